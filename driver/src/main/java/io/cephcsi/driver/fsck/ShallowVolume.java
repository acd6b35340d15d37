package io.cephcsi.driver.fsck;

import io.cephcsi.driver.cluster.ParallelReads;
import io.cephcsi.driver.journal.DamagedEntries;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalDirectory;
import io.cephcsi.driver.journal.JournalEntry;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A shallow volume as the journal has it.
 *
 * @param name its reference key: the name of a subvolume that does not exist
 * @param backingSnapshot the CSI id of the snapshot that it shows
 */
public record ShallowVolume(String name, String backingSnapshot) {
  private static final int PAGE = 1000;

  /** The shallow volume of an entry; empty when the entry is not one's. */
  static Optional<ShallowVolume> of(JournalEntry entry) {
    return entry.backingSnapshot().map(id -> new ShallowVolume(entry.name(), id));
  }

  /** All shallow volumes of a journal; a round trip for each volume, many at once. */
  public static List<ShallowVolume> all(
      JournalDirectory directory, Journal volumes, ParallelReads reads) {
    List<ShallowVolume> shallow = new ArrayList<>();
    JournalDirectory.Page page;
    String after = "";
    do {
      page = directory.page(after, PAGE);
      after = page.last();
      reads
          .map(
              page.names(),
              name ->
                  DamagedEntries.skip(
                      name.uuid().toString(),
                      () -> volumes.byUuid(name.uuid()).flatMap(ShallowVolume::of)))
          .forEach(found -> found.ifPresent(shallow::add));
    } while (page.more());
    return shallow;
  }
}
