package io.cephcsi.driver.node.attach;

import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.driver.node.machine.CommandException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;

/**
 * A way in which RBD images become block devices of this node. All calls block, with deadlines; the
 * caller holds the lock of the volume. Each may be repeated after a crash at any point, also of the
 * process that serves the device. Safe for several threads.
 */
public interface Attacher {
  /** Which way it is. */
  AttacherKind kind();

  /** Why this node cannot do it, such as a missing module or program; empty when it can. */
  Optional<String> unavailable();

  /**
   * Why this node cannot attach an image in this way, though it can others; empty when it can.
   *
   * @param features of the image; asked for only if they count
   * @param readOnly whether the device is to refuse writes
   */
  default Optional<String> hindrance(Supplier<Set<ImageFeature>> features, boolean readOnly) {
    return Optional.empty();
  }

  /**
   * Makes an image a block device, or finds the device that it is. A dead device of the image that
   * nobody has mounted is replaced.
   *
   * @throws CommandException if a program fails
   */
  AttachedDevice attach(AttachRequest request);

  /** The devices of images that this attacher made, dead ones too; must not hang on a dead one. */
  List<AttachedDevice> list();

  /**
   * The device of one image; empty when it has none. As {@link #list}.
   *
   * @throws io.cephcsi.driver.volume.VolumeException FAILED_PRECONDITION when it has several, and
   *     more than one is in use
   */
  default Optional<AttachedDevice> find(ImageSpec image) {
    return AttachedDevice.chosen(devices(image));
  }

  /** All devices of one image. As {@link #list}. */
  default List<AttachedDevice> devices(ImageSpec image) {
    return list().stream().filter(device -> device.image().equals(image)).toList();
  }

  /** The image that a device is; empty when it is none of this attacher's. As {@link #list}. */
  default Optional<AttachedDevice> at(Path device) {
    return list().stream().filter(attached -> attached.device().equals(device)).findFirst();
  }

  /**
   * Whether a device is one that this attacher made and nothing serves any more. As {@link #list}.
   */
  default boolean isDead(Path device) {
    return at(device).filter(attached -> !attached.alive()).isPresent();
  }

  /**
   * Whether a device is of the request's cluster: images of two clusters may have the same name.
   *
   * @return empty when the device does not tell
   */
  Optional<Boolean> isOf(AttachedDevice device, AttachRequest request);

  /**
   * Takes the device away, or all if it has several; nothing to do when there is none. What was
   * written is on the cluster afterwards, unless the device was dead.
   *
   * @param unmapOptions of the StorageClass, those for this attacher; empty for none
   * @throws io.cephcsi.driver.volume.VolumeException FAILED_PRECONDITION while it is in use
   */
  void detach(ImageSpec image, String unmapOptions);

  /**
   * Makes the device as large as its image, which has grown.
   *
   * @param bytes the size of the image
   */
  void grow(AttachedDevice device, long bytes);
}
