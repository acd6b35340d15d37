package io.cephcsi.driver.node.attach;

import io.cephcsi.driver.node.machine.BlockDevice;
import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.node.machine.MountTable;
import java.nio.file.Path;
import java.util.List;

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
}
