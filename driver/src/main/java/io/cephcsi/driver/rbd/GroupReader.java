package io.cephcsi.driver.rbd;

import io.cephcsi.bindings.cls.GroupHeader;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.cluster.PoolInfo;
import io.cephcsi.driver.journal.ClusterView;
import io.cephcsi.driver.journal.DamagedEntries;
import io.cephcsi.driver.journal.GroupEntry;
import io.cephcsi.driver.journal.GroupJournal;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalDirectory.Name;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.journal.ListReader;
import io.cephcsi.driver.volume.CreatedVolume;
import io.cephcsi.driver.volume.VolumeGroup;
import io.cephcsi.driver.volume.VolumeId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
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

  @Override
  public List<Optional<VolumeGroup>> read(
      ClusterView cluster, IoContext journalPool, List<Name> names) {
    List<Optional<OpenGroup>> found =
        ImageLists.find(
            cluster,
            names,
            (io, name) -> {
              GroupJournal journal = new GroupJournal(instanceId, journalPool, io);
              return journal
                  .byUuid(name.uuid())
                  .filter(entry -> !entry.isOfSnapshots())
                  .map(entry -> open(cluster, journalPool, io, journal, entry));
            });
    Map<IoContext, Set<String>> made = made(found);
    List<Optional<OpenGroup>> present =
        found.stream()
            .map(
                group ->
                    group.filter(
                        g -> made.getOrDefault(g.pool().io(), Set.of()).contains(g.entry().name())))
            .toList();
    return cluster.reads().map(present, group -> group.map(g -> g.toGroup(members(g))));
  }

  private static OpenGroup open(
      ClusterView cluster,
      IoContext journalPool,
      IoContext io,
      GroupJournal journal,
      GroupEntry entry) {
    return new OpenGroup(
        new VolumeId(cluster.clusterId(), io.poolId(), entry.journal().uuid()),
        cluster.lease(),
        new RbdPool(io),
        journalPool,
        journal,
        entry);
  }

  private static Map<IoContext, Set<String>> made(List<Optional<OpenGroup>> groups) {
    Map<IoContext, List<String>> names = new HashMap<>();
    for (Optional<OpenGroup> group : groups) {
      group.ifPresent(
          g -> names.computeIfAbsent(g.pool().io(), io -> new ArrayList<>()).add(g.entry().name()));
    }
    Map<IoContext, Set<String>> made = new HashMap<>();
    names.forEach((io, all) -> made.put(io, new HashSet<>(GroupHeader.existing(io, all))));
    return made;
  }

  private List<CreatedVolume> members(OpenGroup group) {
    IoContext io = group.pool().io();
    Journal journal = new Journal(JournalKind.VOLUME, instanceId, io, io);
    return group.entry().members().stream()
        .flatMap(
            id ->
                DamagedEntries.skip(
                    io.pool() + ": " + id.uuid(),
                    () ->
                        journal
                            .byUuid(id.uuid())
                            .map(entry -> new OpenVolume(id, group.lease(), group.pool(), entry))
                            .flatMap(GroupedVolume::of)
                            .map(GroupedVolume::toVolume))
                    .stream())
        .toList();
  }
}
