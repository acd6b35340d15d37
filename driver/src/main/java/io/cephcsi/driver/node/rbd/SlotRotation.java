package io.cephcsi.driver.node.rbd;

import io.cephcsi.driver.kms.Passphrase;
import io.cephcsi.driver.node.machine.BlockDevice;
import io.cephcsi.driver.rbd.encryption.ImageKey;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.function.Consumer;

/**
 * Gives one device with LUKS another passphrase, under the lock of its volume.
 *
 * <pre>
 *            slot a   slot b   KMS
 *   before     K1       -      K1
 *   1.         K1       K2     K1    K2 is proven to open the volume
 *   2.         K1       K2     K2    which the KMS has proven to have
 *   3.         -        K2     K2
 * </pre>
 *
 * <p>A process may die anywhere: what the KMS has opens the volume, and the repeated call removes
 * the other passphrase first. What was read of the KMS does not prove which one that is: the
 * process may have been stopped since, or a standby that lags behind may have answered. So the KMS
 * confirms it before a slot goes.
 *
 * @param key of the volume
 * @param cryptsetup on the device of its image
 * @param requireLock fails when the lock was lost
 * @param phase is told what is done
 */
record SlotRotation(
    ImageKey key,
    Cryptsetup cryptsetup,
    Runnable requireLock,
    Runnable requireUnshared,
    Consumer<String> phase) {
  /**
   * Rotates the passphrase.
   *
   * @throws VolumeException FAILED_PRECONDITION when the device cannot be written, or is not opened
   *     by what the KMS has; ABORTED when the KMS has another passphrase meanwhile, or while a
   *     cryptsetup that a dead driver began works on the device
   */
  void run() {
    if (BlockDevice.at(cryptsetup.device()).filter(BlockDevice::isReadOnly).isPresent()) {
      throw refused("is staged for reading only: its passphrase is changed where it is writable");
    }
    cryptsetup.awaitOthers();
    try (Passphrase present = key.fetch();
        Passphrase next = Passphrase.random();
        HeaderCopy header = cryptsetup.header()) {
      phase.accept("look at the slots");
      int slot =
          header
              .slotOf(present)
              .orElseThrow(() -> refused("is not opened in slot 0 or 1 by what the KMS has"));
      int free = 1 - slot;
      if (header.hasSlot(free)) { // of a rotation that was cut off
        key.confirm(present);
        requireLock.run();
        cryptsetup.removeSlot(free, present);
      }
      phase.accept("add the new passphrase");
      cryptsetup.addTo(free, present, next);
      requireAdded(header, next, free);
      requireLock.run();
      phase.accept("store the new passphrase");
      requireUnshared.run(); // a site that gets the volume from now on has a header with both
      key.replace(present, next); // the old one stays, too, if that fails
      requireLock.run();
      phase.accept("remove the old passphrase");
      cryptsetup.removeSlot(slot, next);
    }
  }

  /** Somebody may have changed the header after it was read, and before cryptsetup wrote it. */
  private void requireAdded(HeaderCopy before, Passphrase next, int slot) {
    try (HeaderCopy header = cryptsetup.header()) {
      if (!header.hasKeyOf(before)) {
        throw refused("has another volume key since its passphrase is changed; the old one stays");
      }
      if (!header.isOpenedBy(next, slot)) {
        throw refused("is not opened by its new passphrase; the old one stays");
      }
    }
  }

  private VolumeException refused(String why) {
    return new VolumeException(
        Reason.FAILED_PRECONDITION, "volume " + key.owner().volumeId() + " " + why);
  }
}
