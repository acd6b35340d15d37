package io.cephcsi.driver.cephfs;

import io.cephcsi.bindings.cephfs.CephFsMount;
import io.cephcsi.bindings.rados.IoContext;
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

/**
 * Reads the volumes of a list: one round trip for the journal's object of each, and a few to the
 * MDS, many at once; one mount for each batch.
 */
final class CephFsVolumeReader implements ListReader<ListedVolume> {
  private final FileSystemLists lists;
  private final SnapshotPaths paths;

  CephFsVolumeReader(FileSystemLists lists, SnapshotPaths paths) {
    this.lists = lists;
    this.paths = paths;
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

  private static Optional<ListedVolume> listed(
      ClusterView cluster, OpenFileSystem files, CephFsMount mount, JournalEntry entry) {
    if (entry.backingSnapshot().isPresent()) {
      return Optional.of(shallow(cluster, files, mount, entry));
    }
    return SubvolumeMetadata.at(files, mount, entry.name())
        .map(look -> volume(cluster, files, entry, look.quota(), look.path(), Optional.empty()));
  }

  /** A shallow volume that lost its snapshot is there all the same, until it is deleted. */
  private static ListedVolume shallow(
      ClusterView cluster, OpenFileSystem files, CephFsMount mount, JournalEntry entry) {
    Optional<ResolvedSnapshot> snapshot =
        entry
            .backingSnapshot()
            .flatMap(VolumeId::parse)
            .flatMap(id -> files.snapshots().byUuid(id.uuid()))
            .flatMap(found -> SnapshotPaths.look(files, mount, found));
    return volume(
        cluster,
        files,
        entry,
        snapshot.map(ResolvedSnapshot::size).orElse(0L),
        snapshot.map(seen -> seen.root() + "/").orElse(""),
        snapshot.isPresent() ? Optional.empty() : Optional.of(snapshotGone(entry)));
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
