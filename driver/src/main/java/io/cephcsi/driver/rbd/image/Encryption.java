package io.cephcsi.driver.rbd.image;

import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.volume.VolumeException;

/**
 * Refuses encrypted volumes where nothing copies their passphrases: a clone without the key would
 * be useless.
 */
public final class Encryption {
  private Encryption() {}

  /**
   * Requires that what is to be copied is not encrypted.
   *
   * @param what for the message, such as {@code volume 0001-...}
   * @throws VolumeException INVALID_ARGUMENT if it is
   */
  public static void requireNone(String what, JournalEntry entry) {
    if (entry.isEncrypted()) {
      throw VolumeException.invalid(
          what
              + " is encrypted, and group snapshots of encrypted volumes are not supported: take a"
              + " snapshot of each volume");
    }
  }
}
