package io.cephcsi.driver.rbd.background;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.cluster.CephCommand;
import io.cephcsi.driver.cluster.ClusterWorkers;
import io.cephcsi.driver.volume.VolumeException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tasks of the manager's module rbd_support. They are stored on the cluster, so they survive the
 * driver. The manager does the tasks one by one in their order; a failed one is repeated after 30
 * s, then at growing intervals.
 *
 * <p>Commands to the manager have no timeout in librados. So each cluster has a thread for them,
 * and after an unanswered command the manager is not asked again for a while.
 */
public final class MgrTasks implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(MgrTasks.class);
  private static final Duration COMMAND_TIMEOUT = Duration.ofSeconds(5);
  private static final Duration SILENCE = Duration.ofMinutes(1);

  private final ClusterWorkers commands = new ClusterWorkers("mgr-command", 4, 100);
  private final Map<String, Long> silentUntilNanos = new ConcurrentHashMap<>(); // by fsid

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
    String fsid = io.cluster().fsid();
    Long silentUntil = silentUntilNanos.get(fsid);
    if (silentUntil != null && System.nanoTime() - silentUntil < 0) {
      return false;
    }
    try {
      CephCommand task = command(io, prefix, specKey, image);
      Future<?> command = commands.of(io).submit(() -> task.toManager(io.cluster()));
      try {
        command.get(COMMAND_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
      } finally {
        command.cancel(false); // one that waits for a thread must not be sent later
      }
      return true;
    } catch (TimeoutException | RejectedExecutionException e) {
      silentUntilNanos.put(fsid, System.nanoTime() + SILENCE.toNanos());
      LOG.warn(
          "the manager of cluster {} does not answer; for {} the driver itself"
              + " removes and flattens images",
          fsid,
          SILENCE);
      return false;
    } catch (VolumeException e) {
      LOG.warn(
          "the manager cannot work on an image with this name, the driver does: {}",
          e.getMessage());
      return false;
    } catch (ExecutionException e) {
      // Not allowed, or a manager without the module rbd_support.
      LOG.info(
          "the manager refused \"{}\" for image {}, the driver does it: {}",
          prefix,
          image,
          String.valueOf(e.getCause()));
      return false;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  private static CephCommand command(IoContext io, String prefix, String specKey, String image) {
    String space = io.namespace().isEmpty() ? "" : io.namespace() + "/";
    return CephCommand.of(prefix, Map.of(specKey, io.pool() + "/" + space + image));
  }

  @Override
  public void close() {
    commands.close();
  }
}
