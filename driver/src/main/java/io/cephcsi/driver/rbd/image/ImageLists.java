package io.cephcsi.driver.rbd.image;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.journal.ClusterView;
import io.cephcsi.driver.journal.DamagedEntries;
import io.cephcsi.driver.journal.JournalDirectory.Name;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.BiFunction;

/** What the lists of volumes and of snapshots have in common. */
public final class ImageLists {
  private ImageLists() {}

  /**
   * Looks at what names stand for, many at once, each in the pool of its image; {@linkplain
   * DamagedEntries damaged entries} are left out. So are names that lead to another pool which the
   * user may not read: who may write to one pool's journal must not hide it all.
   *
   * @param journalPool where the names are
   * @param look gives nothing when there is nothing; not called for pools that are gone
   * @return in the order of the names
   */
  public static <T> List<Optional<T>> find(
      ClusterView cluster,
      IoContext journalPool,
      List<Name> names,
      BiFunction<IoContext, Name, Optional<T>> look) {
    Map<Long, Optional<IoContext>> pools = new HashMap<>();
    for (Name name : names) {
      pools.computeIfAbsent(name.poolId(), id -> cluster.io(Storage.RBD, id));
    }
    return cluster
        .reads()
        .map(
            names,
            name ->
                Objects.requireNonNull(pools.get(name.poolId()))
                    .flatMap(
                        io ->
                            DamagedEntries.skip(
                                io.pool() + ": " + name.uuid(),
                                () -> find(journalPool, io, name, look))));
  }

  private static <T> Optional<T> find(
      IoContext journalPool,
      IoContext io,
      Name name,
      BiFunction<IoContext, Name, Optional<T>> look) {
    try {
      return look.apply(io, name);
    } catch (CephException.Denied e) {
      if (io.poolId() == journalPool.poolId()) {
        throw e;
      }
      DamagedEntries.report(
          journalPool.pool() + ": what is in pool " + io.pool(), "the user may not read that pool");
      return Optional.empty();
    }
  }
}
