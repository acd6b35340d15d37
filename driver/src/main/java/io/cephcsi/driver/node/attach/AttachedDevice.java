package io.cephcsi.driver.node.attach;

import io.cephcsi.driver.node.machine.BlockDevice;
import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * An image that is a block device of this node.
 *
 * @param kind of the attacher that made it
 * @param image which image
 * @param device its block device, such as /dev/rbd0
 * @param alive whether somebody serves it; a dead device fails all input and output
 */
public record AttachedDevice(AttacherKind kind, ImageSpec image, Path device, boolean alive) {
  /** Where it is mounted now as a file system, or bound as a device. */
  public List<Mount> uses() {
    return BlockDevice.usesOf(device, MountTable.read());
  }

  /**
   * The device to work with, of all that an image has: somebody may have mapped it by hand, too, or
   * a call that died did so late. The one in use, as another would be a second way to the data
   * below a file system that is mounted.
   *
   * @return empty when there is none
   * @throws VolumeException FAILED_PRECONDITION when more than one is in use
   */
  static Optional<AttachedDevice> chosen(List<AttachedDevice> all) {
    if (all.size() < 2) {
      return all.stream().findFirst();
    }
    List<AttachedDevice> used = all.stream().filter(device -> !device.uses().isEmpty()).toList();
    if (used.size() > 1) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          all.get(0).image()
              + " has several devices in use on this node: "
              + used.stream().map(device -> device.device().toString()).toList()
              + "; unmap those that were mapped by hand");
    }
    return Optional.of(used.isEmpty() ? all.get(0) : used.get(0));
  }
}
