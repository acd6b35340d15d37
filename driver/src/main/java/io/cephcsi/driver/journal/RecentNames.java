package io.cephcsi.driver.journal;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.cephcsi.bindings.rados.IoContext;
import java.time.Duration;
import java.util.Optional;
import java.util.UUID;

/**
 * Which entries request names led to lately, as this process knows it. Only a hint, which tells
 * what to read: others may have deleted the entry and reserved the name anew. Safe for several
 * threads; never blocks.
 */
final class RecentNames {
  private static final int REMEMBERED = 10_000;
  private static final Duration KEEP = Duration.ofMinutes(10);

  /** Of all journals, as one is made for each call. */
  private static final Cache<Key, UUID> RECENT =
      Caffeine.newBuilder().maximumSize(REMEMBERED).expireAfterWrite(KEEP).build();

  private RecentNames() {}

  /** A name in a directory of a cluster. */
  private record Key(String fsid, long poolId, String namespace, String directory, String name) {
    static Key of(IoContext pool, String directory, String name) {
      return new Key(pool.cluster().fsid(), pool.poolId(), pool.namespace(), directory, name);
    }
  }

  static Optional<UUID> find(IoContext pool, String directory, String name) {
    return Optional.ofNullable(RECENT.getIfPresent(Key.of(pool, directory, name)));
  }

  static void remember(IoContext pool, String directory, String name, UUID uuid) {
    RECENT.put(Key.of(pool, directory, name), uuid);
  }
}
