package io.cephcsi.driver.cephfs;

import io.cephcsi.bindings.cephfs.CephFsMount;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.journal.ClusterView;
import io.cephcsi.driver.journal.JournalDirectory.Name;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.ListReader;
import io.cephcsi.driver.tracker.Trackers;
import io.cephcsi.driver.volume.ListedSnapshot;
import io.cephcsi.driver.volume.VolumeId;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/**
 * Reads the snapshots of a list: two round trips for the journal's object and the tracker of each,
 * and a few to the MDS, many at once; one mount for each batch. Those that their user deleted are
 * left out.
 */
final class CephFsSnapshotReader implements ListReader<ListedSnapshot> {
  private static final int UUID_LENGTH = 36;

  private final FileSystemLists lists;
  private final SnapshotPaths paths;
  private final Trackers trackers;
  private final Optional<VolumeId> source;

  /**
   * @param source only snapshots of this volume; empty for all
   */
  CephFsSnapshotReader(
      FileSystemLists lists, SnapshotPaths paths, Trackers trackers, Optional<VolumeId> source) {
    this.lists = lists;
    this.paths = paths;
    this.trackers = trackers;
    this.source = source;
  }

  @Override
  public List<Long> journalPools(ClusterView cluster) {
    return lists.journalPools(cluster);
  }

  @Override
  public List<Optional<ListedSnapshot>> read(
      ClusterView cluster, IoContext journalPool, List<Name> names) {
    return lists.mounted(
        cluster, journalPool, paths, names, (files, mount, name) -> find(files, mount, name));
  }

  private Optional<ListedSnapshot> find(OpenFileSystem files, CephFsMount mount, Name name) {
    Optional<JournalEntry> entry =
        files.snapshots().byUuid(name.uuid()).filter(found -> !found.isDeleted());
    Optional<VolumeId> from = entry.flatMap(found -> sourceUuid(found)).map(files::id);
    if (from.isEmpty() || source.filter(wanted -> !isSame(wanted, from.get())).isPresent()) {
      return Optional.empty();
    }
    VolumeId id = files.id(name.uuid());
    return SnapshotPaths.look(files, mount, entry.get())
        .filter(seen -> !BackingSnapshot.of(files, trackers, id.toString()).isDeleted(entry.get()))
        .map(
            seen ->
                new ListedSnapshot(
                    id, from.get(), seen.size(), seen.createdAt(), entry.get().groupId()));
  }

  /** Several clusterIDs may stand for the volume's cluster, and its id be with any of them. */
  private static boolean isSame(VolumeId one, VolumeId other) {
    return one.uuid().equals(other.uuid()) && one.location() == other.location();
  }

  /** The names of subvolumes end with the uuid of their volume. */
  private static Optional<UUID> sourceUuid(JournalEntry entry) {
    return entry
        .source()
        .filter(name -> name.length() >= UUID_LENGTH)
        .map(name -> name.substring(name.length() - UUID_LENGTH))
        .flatMap(CephFsSnapshotReader::uuid);
  }

  private static Optional<UUID> uuid(String text) {
    try {
      return Optional.of(UUID.fromString(text));
    } catch (IllegalArgumentException e) {
      return Optional.empty();
    }
  }
}
