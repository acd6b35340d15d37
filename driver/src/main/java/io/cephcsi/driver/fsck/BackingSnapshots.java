package io.cephcsi.driver.fsck;

import io.cephcsi.driver.journal.JournalEntry;

/** Tells which snapshots a file system has. */
@FunctionalInterface
public interface BackingSnapshots {
  /**
   * Whether a snapshot is there.
   *
   * @param snapshot its journal entry
   */
  boolean exists(JournalEntry snapshot);
}
