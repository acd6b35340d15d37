package io.cephcsi.driver.node.rbd;

import io.cephcsi.driver.node.attach.AttachedDevice;
import io.cephcsi.driver.node.attach.Attachers;
import io.cephcsi.driver.node.attach.ImageSpec;
import io.cephcsi.driver.node.machine.Argument;
import io.cephcsi.driver.node.machine.Command;
import io.cephcsi.driver.node.machine.LuksDevices;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.Optional;

/**
 * The decrypted device on the device of an encrypted volume, whichever driver made it.
 *
 * @param name what the device mapper calls it
 */
record LuksMapping(String name) {
  private static final String PROGRAM = "cryptsetup";

  /** The one of a volume; empty when there is none. */
  static Optional<LuksMapping> of(String volumeId) {
    return LuksDevices.find(volumeId).map(found -> new LuksMapping(LuksDevices.nameOf(volumeId)));
  }

  /** Whether it lies on a device of another image that is served: then it is that one's. */
  boolean isOfAnother(Attachers attachers, Optional<ImageSpec> image) {
    return LuksDevices.find(name.substring(LuksDevices.nameOf("").length()))
        .flatMap(LuksDevices::below)
        .flatMap(attachers::byDevice)
        .filter(AttachedDevice::alive)
        .filter(below -> image.isPresent() && !image.get().equals(below.image()))
        .isPresent();
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
