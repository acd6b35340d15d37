package io.cephcsi.driver.cephfs;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.Ticker;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.volume.CapacityRange;
import java.time.Duration;
import java.util.Optional;

/**
 * The subvolumes of volumes that this process has made or found within 10 s, so that a CreateVolume
 * whose answer was lost is repeated without a command to the manager. The path of a subvolume never
 * changes. That the volume exists, and is not being deleted, the caller has just read from the
 * journal.
 *
 * <p>What others do meanwhile behind the journal is not seen: a subvolume that was removed by hand,
 * a quota that another driver has raised. Safe for several threads; never blocks.
 */
final class KnownSubvolumes {
  private static final int REMEMBERED = 10_000;
  private static final Duration KEEP = Duration.ofSeconds(10);

  private final Cache<String, SubvolumeInfo> known;

  KnownSubvolumes() {
    this(Ticker.systemTicker());
  }

  KnownSubvolumes(Ticker ticker) {
    known =
        Caffeine.newBuilder().maximumSize(REMEMBERED).expireAfterWrite(KEEP).ticker(ticker).build();
  }

  /**
   * What is remembered of a volume's subvolume, if it is large enough. Nobody shrinks a volume, but
   * another driver may have grown it: where there is a limit, nothing is remembered.
   */
  Optional<SubvolumeInfo> find(OpenFileSystem files, JournalEntry entry, CapacityRange wanted) {
    return Optional.ofNullable(known.getIfPresent(files.key(entry)))
        .filter(info -> wanted.limit() == 0 && info.quota() >= wanted.required());
  }

  /** Remembers the subvolume of a volume that is complete; no longer for being asked for again. */
  void remember(OpenFileSystem files, JournalEntry entry, SubvolumeInfo info) {
    String key = files.key(entry);
    if (!info.equals(known.getIfPresent(key))) {
      known.put(key, info);
    }
  }

  /** Forgets a subvolume that changes. */
  void forget(OpenFileSystem files, JournalEntry entry) {
    known.invalidate(files.key(entry));
  }
}
