package io.cephcsi.driver.rbd.group;

import io.cephcsi.bindings.cls.GroupHeader;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.cluster.PoolInfo;
import io.cephcsi.driver.cluster.Reservations;
import io.cephcsi.driver.journal.ClusterView;
import io.cephcsi.driver.journal.DamagedEntries;
import io.cephcsi.driver.journal.GroupEntry;
import io.cephcsi.driver.journal.GroupJournal;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalDirectory.Name;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.journal.ListReader;
import io.cephcsi.driver.rbd.image.FoundImage;
import io.cephcsi.driver.rbd.image.ImageLists;
import io.cephcsi.driver.volume.CreatedVolume;
import io.cephcsi.driver.volume.VolumeGroup;
import io.cephcsi.driver.volume.VolumeId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;

/**
 * Reads the volume groups of a list: one round trip for each, two for each member, many at once,
 * and one for each batch and pool, for the RBD groups that there are. Snapshots of groups, which
 * the journal has in the same directory, are left out.
 */
final class GroupReader implements ListReader<VolumeGroup> {
  private final String instanceId;

  GroupReader(String instanceId) {
    this.instanceId = instanceId;
  }

  @Override
  public List<Long> journalPools(ClusterView cluster) {
    return cluster.pools().stream().filter(PoolInfo::mayHoldRbd).map(PoolInfo::id).toList();
  }

  /** Of groups of 500 volumes, an answer holds about twenty. */
  @Override
  public int batch() {
    return 50;
  }

  @Override
  public List<Optional<VolumeGroup>> read(
      ClusterView cluster, IoContext journalPool, List<Name> names) {
    List<Optional<Found>> found =
        ImageLists.find(
            cluster,
            journalPool,
            names,
            (io, name) ->
                new GroupJournal(instanceId, journalPool, io, Reservations.FORGOTTEN)
                    .byUuid(name.uuid())
                    .filter(entry -> !entry.isOfSnapshots())
                    .map(entry -> new Found(io, entry)));
    Map<IoContext, Set<String>> made = made(found);
    List<Optional<Found>> present =
        found.stream()
            .map(
                group ->
                    group.filter(
                        g -> made.getOrDefault(g.io(), Set.of()).contains(g.entry().name())))
            .toList();
    return cluster.reads().map(present, group -> group.map(g -> toGroup(cluster, journalPool, g)));
  }

  private static Map<IoContext, Set<String>> made(List<Optional<Found>> groups) {
    Map<IoContext, List<String>> names = new HashMap<>();
    for (Optional<Found> group : groups) {
      group.ifPresent(
          g -> names.computeIfAbsent(g.io(), io -> new ArrayList<>()).add(g.entry().name()));
    }
    Map<IoContext, Set<String>> made = new HashMap<>();
    names.forEach((io, all) -> made.put(io, new HashSet<>(GroupHeader.existing(io, all))));
    return made;
  }

  private VolumeGroup toGroup(ClusterView cluster, IoContext journalPool, Found group) {
    IoContext io = group.io();
    Journal journal = new Journal(JournalKind.VOLUME, instanceId, io, io);
    List<CreatedVolume> members =
        group.entry().members().stream()
            .flatMap(
                id ->
                    DamagedEntries.skip(
                        io.pool() + ": " + id.uuid(),
                        () ->
                            journal
                                .byUuid(id.uuid())
                                .flatMap(entry -> member(cluster.lease(), id, io, entry)))
                        .stream())
            .toList();
    VolumeId id = new VolumeId(cluster.clusterId(), io.poolId(), group.entry().journal().uuid());
    return OpenGroup.toGroup(id, io, journalPool, group.entry(), members);
  }

  private static Optional<CreatedVolume> member(
      Lease lease, VolumeId id, IoContext io, JournalEntry entry) {
    OptionalLong journalPool = entry.journalPoolId();
    return FoundImage.of(new RbdPool(io), entry)
        .map(
            image ->
                GroupedVolume.toVolume(
                    id,
                    io,
                    journalPool.isPresent() ? lease.rbdPool(journalPool.getAsLong()) : io,
                    entry,
                    image.header().size()));
  }

  /** A group of the list, which may not exist. */
  private record Found(IoContext io, GroupEntry entry) {}
}
