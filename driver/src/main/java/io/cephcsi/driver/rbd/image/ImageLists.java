package io.cephcsi.driver.rbd.image;

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
   * DamagedEntries damaged entries} are left out.
   *
   * @param look gives nothing when there is nothing; not called for pools that are gone
   * @return in the order of the names
   */
  public static <T> List<Optional<T>> find(
      ClusterView cluster, List<Name> names, BiFunction<IoContext, Name, Optional<T>> look) {
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
                                io.pool() + ": " + name.uuid(), () -> look.apply(io, name))));
  }
}
