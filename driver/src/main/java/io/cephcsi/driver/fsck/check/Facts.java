package io.cephcsi.driver.fsck.check;

import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.journal.StoredName;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/** What the checks of a pool ask: of lists that were read before, or of the cluster. */
interface Facts {
  /** Whether an image has a header. */
  boolean hasHeader(String imageId);

  /** The name of an image in the pool's directory. */
  Optional<String> nameInDirectory(String imageId);

  /** The image of a name in the pool's directory. */
  Optional<String> idInDirectory(String name);

  /** Whether an image is in the trash. */
  boolean isInTrash(String imageId);

  /** Whether the head of an image has an object map. */
  boolean hasObjectMap(String imageId);

  /** Whether there is the object of an entry. */
  boolean hasEntry(JournalKind kind, UUID uuid);

  /** The names of all instances that may lead to an entry. */
  List<StoredName> names(JournalKind kind, JournalEntry entry);

  /** Whether an entry gives an image its name; also one that cannot be read. */
  boolean isClaimed(String imageName);
}
