package io.cephcsi.driver.fsck.check;

import io.cephcsi.driver.fsck.Finding;
import io.cephcsi.driver.fsck.Finding.Repair;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.StoredEntry;
import io.cephcsi.driver.journal.StoredName;
import java.util.List;
import java.util.Optional;

/** What entries stand for: images, or subvolumes; and what may be done to an entry without it. */
interface EntryContent {
  /** Whether an entry says that what it stands for was made. */
  boolean isFinished(StoredEntry stored, JournalEntry entry);

  /** Checks what a finished entry stands for; some round trips. */
  void look(Facts facts, StoredEntry stored, JournalEntry entry, List<Finding> findings);

  /** Removes a name that leads to no entry. */
  Optional<Repair> removeName(StoredName name);

  /** Makes a name lead to an entry, or removes an entry that nothing is left of. */
  Optional<Repair> setName(StoredEntry stored, JournalEntry entry);

  /** Undoes a reservation. */
  Optional<Repair> undoCreation(StoredEntry stored, JournalEntry entry);

  /** Ends a deletion. */
  Optional<Repair> endDeletion(StoredEntry stored);
}
