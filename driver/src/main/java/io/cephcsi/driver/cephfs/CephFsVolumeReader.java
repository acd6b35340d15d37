package io.cephcsi.driver.cephfs;

import io.cephcsi.bindings.cephfs.CephFsMount;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.DriverConnections;
import io.cephcsi.driver.cluster.FileSystemInfo;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.journal.AttachmentJournal;
import io.cephcsi.driver.journal.ClusterView;
import io.cephcsi.driver.journal.JournalDirectory.Name;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.ListReader;
import io.cephcsi.driver.volume.ListedVolume;
import io.cephcsi.driver.volume.VolumeId;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads the volumes of a list: one round trip for the journal's object of each, and a few to the
 * MDS, many at once; one mount for each batch.
 */
final class CephFsVolumeReader implements ListReader<ListedVolume> {
  private static final Logger LOG = LoggerFactory.getLogger(CephFsVolumeReader.class);

  private final FileSystemLists lists;
  private final SnapshotPaths paths;
  private final DriverConnections access;

  /** The subvolumes of groups that had to be looked at for what is listed in another one. */
  private final Map<String, Set<String>> ofOtherGroups = new ConcurrentHashMap<>();

  /**
   * @param access the clusters that are listed
   */
  CephFsVolumeReader(FileSystemLists lists, SnapshotPaths paths, DriverConnections access) {
    this.lists = lists;
    this.paths = paths;
    this.access = access;
  }

  @Override
  public List<Long> journalPools(ClusterView cluster) {
    return lists.journalPools(cluster);
  }

  @Override
  public List<Optional<ListedVolume>> read(
      ClusterView cluster, IoContext journalPool, List<Name> names) {
    return lists.mounted(
        cluster,
        journalPool,
        paths,
        names,
        (files, mount, name) ->
            files
                .volumes()
                .byUuid(name.uuid())
                .flatMap(entry -> listed(cluster, files, mount, entry)));
  }

  private Optional<ListedVolume> listed(
      ClusterView cluster, OpenFileSystem files, CephFsMount mount, JournalEntry entry) {
    if (entry.backingSnapshot().isPresent()) {
      return shallow(cluster, files, mount, entry);
    }
    return SubvolumeMetadata.at(files, mount, entry.name())
        .map(look -> volume(cluster, files, entry, look.quota(), look.path(), Optional.empty()));
  }

  /**
   * A shallow volume that lost its snapshot is there all the same, until it is deleted. It has no
   * subvolume: it is of the group that its snapshot is, or was, in.
   */
  private Optional<ListedVolume> shallow(
      ClusterView cluster, OpenFileSystem files, CephFsMount mount, JournalEntry entry) {
    Optional<VolumeId> id = entry.backingSnapshot().flatMap(VolumeId::parse);
    Optional<JournalEntry> backing = id.flatMap(found -> files.snapshots().byUuid(found.uuid()));
    Optional<ResolvedSnapshot> snapshot =
        backing.flatMap(found -> SnapshotPaths.look(files, mount, found));
    if (snapshot.isEmpty() && isOfAnotherGroup(files, mount, id, backing)) {
      return Optional.empty();
    }
    return Optional.of(
        volume(
            cluster,
            files,
            entry,
            snapshot.map(ResolvedSnapshot::size).orElse(0L),
            snapshot.map(seen -> seen.root() + "/").orElse(""),
            snapshot.isPresent() ? Optional.empty() : Optional.of(snapshotGone(entry))));
  }

  /**
   * Of a snapshot that is not in the group. It is of the group that has its subvolume; where none
   * that is listed has it, of the group that its id tells; where no clusterID of the configuration
   * is in the id, of the first that is listed.
   */
  private boolean isOfAnotherGroup(
      OpenFileSystem files,
      CephFsMount mount,
      Optional<VolumeId> snapshot,
      Optional<JournalEntry> entry) {
    Optional<String> source = entry.flatMap(JournalEntry::source);
    if (source.filter(name -> mount.find("/" + name).isPresent()).isPresent()) {
      return false;
    }
    ClusterConfig own = files.lease().config();
    List<ClusterConfig> listed =
        access.clusters().stream().filter(other -> access.shareJournal(own, other)).toList();
    String group =
        snapshot
            .flatMap(id -> access.usable(id.clusterId()))
            .filter(other -> access.shareJournal(own, other))
            .or(() -> listed.stream().findFirst())
            .map(ClusterConfig::subvolumeGroup)
            .orElse(own.subvolumeGroup());
    return !group.equals(own.subvolumeGroup())
        || listed.stream()
            .filter(other -> !other.subvolumeGroup().equals(group))
            .anyMatch(other -> source.filter(subvolumes(other, files)::contains).isPresent());
  }

  /**
   * The subvolumes of a group, read once for all volumes of a list; none where the user of its
   * clusterID may not look, such as one of another file system: what it cannot read, it does not
   * list.
   */
  private Set<String> subvolumes(ClusterConfig cluster, OpenFileSystem files) {
    return ofOtherGroups.computeIfAbsent(
        cluster.clusterId() + "/" + files.info().id(),
        key -> access.connected(cluster, lease -> subvolumes(lease, files.info())));
  }

  private Set<String> subvolumes(Lease lease, FileSystemInfo fileSystem) {
    try {
      return paths
          .mounted(
              OpenFileSystem.open(lease, fileSystem, lists.instanceId()),
              mount -> Optional.of(Set.copyOf(mount.names("/"))))
          .orElse(Set.of());
    } catch (CephException.Denied e) {
      LOG.debug(
          "{} may not look into file system {}: {}",
          lease.config().clusterId(),
          fileSystem.name(),
          e.getMessage());
      return Set.of();
    }
  }

  static String snapshotGone(JournalEntry entry) {
    return "the snapshot " + entry.backingSnapshot().orElse("") + " that it shows is gone";
  }

  static ListedVolume volume(
      ClusterView cluster,
      OpenFileSystem files,
      JournalEntry entry,
      long size,
      String path,
      Optional<String> problem) {
    return new ListedVolume(
        files.id(entry.uuid()),
        size,
        Map.of(
            "clusterID", files.clusterId(),
            "fsName", files.info().name(),
            "subvolumeName", entry.name(),
            "subvolumePath", path),
        AttachmentJournal.nodes(entry),
        problem.or(() -> full(cluster, files)).or(cluster::danger));
  }

  private static Optional<String> full(ClusterView cluster, OpenFileSystem files) {
    return files.info().dataPoolIds().stream()
        .filter(cluster::isFull)
        .map(pool -> "a data pool of file system " + files.info().name() + " is full")
        .findFirst();
  }
}
