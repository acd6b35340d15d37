package io.cephcsi.driver.rbd.background;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.cluster.CephCommand;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tasks of the manager's module rbd_support. They are stored on the cluster, so they survive the
 * driver. The manager does the tasks one by one in their order; a failed one is repeated after 30
 * s, then at growing intervals. What the manager cannot do or does not answer to, the driver does
 * itself.
 */
public final class MgrTasks {
  private static final Logger LOG = LoggerFactory.getLogger(MgrTasks.class);

  private final ManagerCommands commands;

  /**
   * @param commands sends them
   */
  public MgrTasks(ManagerCommands commands) {
    this.commands = commands;
  }

  /**
   * Has an image in the trash removed.
   *
   * @return false when the manager cannot
   */
  boolean removeFromTrash(IoContext io, String imageId) {
    return add(io, "rbd task add trash remove", "image_id_spec", imageId);
  }

  /**
   * Has an image flattened.
   *
   * @return false when the manager cannot
   */
  boolean flatten(IoContext io, String image) {
    return add(io, "rbd task add flatten", "image_spec", image);
  }

  private boolean add(IoContext io, String prefix, String specKey, String image) {
    try {
      commands.send(io, CephCommand.of(prefix, Map.of(specKey, new RbdPool(io).describe(image))));
      return true;
    } catch (VolumeException e) {
      if (e.reason() != Reason.UNAVAILABLE) {
        LOG.warn(
            "the manager cannot work on an image with this name, the driver does: {}",
            e.getMessage());
      }
      return false;
    } catch (CephException e) {
      // Not allowed, or a manager without the module rbd_support.
      LOG.info(
          "the manager refused \"{}\" for image {}, the driver does it: {}",
          prefix,
          image,
          e.toString());
      return false;
    }
  }
}
