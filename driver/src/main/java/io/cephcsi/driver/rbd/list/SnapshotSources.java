package io.cephcsi.driver.rbd.list;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import java.util.UUID;

/**
 * Which volume each snapshot was taken of, as far as lists have found out. It never changes once a
 * snapshot is complete, and nothing on the cluster leads from a volume to its snapshots: so the
 * first list of one volume's snapshots reads the journal's object of every snapshot, and those
 * after it the objects of that volume's, and of new ones. Safe for several threads.
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
