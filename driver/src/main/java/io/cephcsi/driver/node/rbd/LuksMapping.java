package io.cephcsi.driver.node.rbd;

import io.cephcsi.driver.node.machine.Argument;
import io.cephcsi.driver.node.machine.Command;
import io.cephcsi.driver.node.machine.Sysfs;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.nio.file.Path;
import java.util.Optional;

/**
 * The decrypted device that ceph-csi lays on the device of an encrypted volume. This driver makes
 * none, and closes those that ceph-csi left.
 *
 * @param name what the device mapper calls it
 */
record LuksMapping(String name) {
  private static final Path BLOCK_DEVICES = Path.of("/sys/block");
  private static final String PROGRAM = "cryptsetup";

  /** The one of a volume; empty when there is none. */
  static Optional<LuksMapping> of(String volumeId) {
    String name = "luks-rbd-" + volumeId;
    return Sysfs.in(BLOCK_DEVICES, "dm-*").stream()
            .anyMatch(each -> Sysfs.text(each.resolve("dm/name")).filter(name::equals).isPresent())
        ? Optional.of(new LuksMapping(name))
        : Optional.empty();
  }

  /**
   * Requires that it can be closed here.
   *
   * @throws VolumeException FAILED_PRECONDITION saying what to close
   */
  void requireClosable() {
    if (Command.find(PROGRAM).isEmpty()) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          PROGRAM
              + " is not installed: unmount the encrypted device "
              + name
              + " and close it by \"cryptsetup luksClose "
              + name
              + "\" on the node");
    }
  }

  /** Closes it. */
  void close() {
    Command.of(PROGRAM, "luksClose").with(Argument.of("the mapping", name)).run();
  }
}
