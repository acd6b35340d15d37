package io.cephcsi.driver.cephfs;

import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeId;

/**
 * A volume that the journal knows, with the connection to work on it.
 *
 * @param id its identifier
 * @param files the file system that it is in
 * @param entry what the journal says
 */
record OpenVolume(VolumeId id, OpenFileSystem files, JournalEntry entry) {
  /** Refuses an entry with the name of another volume. */
  OpenVolume {
    entry.requireOwnName();
  }

  /** The name of its subvolume; of a shallow volume that of its reference. */
  String name() {
    return entry.name();
  }

  /** Whether it shows a snapshot, and has no subvolume. */
  boolean isShallow() {
    return entry.backingSnapshot().isPresent();
  }

  /**
   * What the manager says of its subvolume.
   *
   * @throws VolumeException NOT_FOUND if there is none
   */
  SubvolumeInfo info() {
    return files.admin().info(name()).filter(info -> !info.isRetained()).orElseThrow(this::gone);
  }

  /** What to throw when there is no subvolume. */
  VolumeException gone() {
    return VolumeException.notFound("volume " + id + ": its subvolume " + name() + " is gone");
  }

  /**
   * Requires that its data can change.
   *
   * @throws VolumeException INVALID_ARGUMENT for a shallow volume
   */
  void requireNotShallow(String what) {
    if (isShallow()) {
      throw VolumeException.invalid(
          what + ": volume " + id + " is a shallow volume, which is read-only");
    }
  }
}
