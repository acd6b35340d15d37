package io.cephcsi.driver.rbd.list;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import java.util.UUID;

/**
 * Remembers the source volume of each snapshot that a list has read; it never changes once a
 * snapshot is complete. The cluster has no index from a volume to its snapshots. So the first list
 * of one volume's snapshots reads the journal entry of every snapshot; later ones read the entries
 * of that volume and new ones. Safe for several threads.
 */
final class SnapshotSources {
  private static final int MAX = 100_000; // about 15 MB

  private final Cache<UUID, UUID> sources = Caffeine.newBuilder().maximumSize(MAX).build();

  /** Remembers what a complete snapshot was taken of. */
  void learn(UUID snapshot, UUID volume) {
    sources.put(snapshot, volume);
  }

  /** Whether a snapshot certainly is of another volume. */
  boolean isOfOther(UUID snapshot, UUID volume) {
    UUID known = sources.getIfPresent(snapshot);
    return known != null && !known.equals(volume);
  }
}
