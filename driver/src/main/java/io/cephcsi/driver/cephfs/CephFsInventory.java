package io.cephcsi.driver.cephfs;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.DriverConnections;
import io.cephcsi.driver.cluster.ParallelReads;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.journal.ClusterView;
import io.cephcsi.driver.journal.JournalDirectory.Name;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.journal.Listing;
import io.cephcsi.driver.volume.Inventory;
import io.cephcsi.driver.volume.ListPage;
import io.cephcsi.driver.volume.ListedSnapshot;
import io.cephcsi.driver.volume.ListedVolume;
import io.cephcsi.driver.volume.VolumeId;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Lists CephFS volumes and snapshots, and reads the condition of a volume. */
public final class CephFsInventory implements Inventory {
  private final DriverConnections access;
  private final ClusterExecutors executors;
  private final CephFsVolumes volumes;
  private final FileSystemLists lists;

  /**
   * @param access the clusters
   * @param executors threads to read with
   * @param volumes single volumes
   */
  public CephFsInventory(
      DriverConnections access, ClusterExecutors executors, CephFsVolumes volumes) {
    this.access = access;
    this.executors = executors;
    this.volumes = volumes;
    this.lists = new FileSystemLists(volumes.instanceId());
  }

  /** See {@link Listing} and {@link CephFsVolumeReader} for what it costs. */
  @Override
  public ListPage<ListedVolume> volumes(int maxEntries, String token) {
    CephFsVolumeReader reader = new CephFsVolumeReader(lists, volumes.paths(), access);
    return new Listing<>(
            access, executors, JournalKind.VOLUME, volumes.instanceId(), reader, maxEntries, token)
        .read();
  }

  /** See {@link Listing} and {@link CephFsSnapshotReader} for what it costs. */
  @Override
  public ListPage<ListedSnapshot> snapshots(
      Optional<VolumeId> source, Map<String, String> secrets, int maxEntries, String token) {
    return new Listing<>(
            access.of(secrets),
            executors,
            JournalKind.SNAPSHOT,
            volumes.instanceId(),
            snapshotReader(source),
            maxEntries,
            token)
        .read();
  }

  private CephFsSnapshotReader snapshotReader(Optional<VolumeId> source) {
    return new CephFsSnapshotReader(lists, volumes.paths(), volumes.trackers(), source);
  }

  @Override
  public Optional<ListedSnapshot> snapshot(VolumeId id, Map<String, String> secrets) {
    if (access.find(id.clusterId()).isEmpty()) {
      return Optional.empty();
    }
    Credentials user = access.credentials(id.clusterId(), secrets);
    return access.connected(
        access.require(id.clusterId()),
        user,
        lease ->
            OpenFileSystem.withId(lease, id.location(), volumes.instanceId())
                // says what is wrong with an entry, where lists only leave it out
                .filter(files -> files.snapshots().byUuid(id.uuid()).isPresent())
                .flatMap(
                    files -> {
                      ClusterView cluster =
                          ClusterView.of(
                              lease,
                              new ParallelReads(executors.reads(Storage.CEPHFS, id.clusterId())));
                      Name name = new Name("", id.uuid(), files.metadata().poolId());
                      return snapshotReader(Optional.empty())
                          .read(cluster, files.metadata(), List.of(name))
                          .get(0);
                    }));
  }

  @Override
  public ListedVolume volume(VolumeId id) {
    Credentials user = access.credentials(id.clusterId(), Map.of());
    return volumes.with(id, user, this::describe);
  }

  private ListedVolume describe(OpenVolume volume) {
    OpenFileSystem files = volume.files();
    JournalEntry entry = volume.entry();
    ClusterView cluster =
        ClusterView.of(
            files.lease(),
            new ParallelReads(executors.reads(Storage.CEPHFS, volume.id().clusterId())));
    if (volume.isShallow()) {
      Optional<JournalEntry> snapshot =
          entry
              .backingSnapshot()
              .flatMap(VolumeId::parse)
              .flatMap(snapshotId -> files.snapshots().byUuid(snapshotId.uuid()));
      Optional<ResolvedSnapshot> resolved =
          snapshot
              .filter(s -> files.admin().snapshotInfo(s.source().orElse(""), s.name()).isPresent())
              .flatMap(s -> volumes.paths().find(files, s));
      return CephFsVolumeReader.volume(
          cluster,
          files,
          entry,
          resolved.map(ResolvedSnapshot::size).orElse(0L),
          resolved.map(seen -> seen.root() + "/").orElse(""),
          resolved.isPresent()
              ? Optional.empty()
              : Optional.of(CephFsVolumeReader.snapshotGone(entry)));
    }
    Optional<SubvolumeInfo> info = info(volume);
    return CephFsVolumeReader.volume(
        cluster,
        files,
        entry,
        info.map(SubvolumeInfo::quota).orElse(0L),
        info.flatMap(SubvolumeInfo::path).orElse(""),
        info.isPresent()
            ? Optional.empty()
            : Optional.of("subvolume " + entry.name() + " is missing or not complete"));
  }

  private static Optional<SubvolumeInfo> info(OpenVolume volume) {
    try {
      return volume.files().admin().info(volume.name()).filter(found -> !found.isRetained());
    } catch (CephException e) {
      if (e.errno() == Errno.EAGAIN) {
        return Optional.empty();
      }
      throw e;
    }
  }
}
