package io.cephcsi.driver.cephfs;

import io.cephcsi.bindings.cephfs.CephFsMount;
import io.cephcsi.bindings.cephfs.DirectorySnapshots;
import io.cephcsi.driver.volume.VolumeException;
import java.util.List;

/**
 * The snapshot of a static volume: {@code rootPath} names a directory, {@code backingSnapshotID} a
 * part of the name of exactly one of its snapshots.
 */
final class StaticSnapshot {
  private StaticSnapshot() {}

  /**
   * Finds it in the file system itself; a few round trips.
   *
   * @param mount of the directory
   * @param id what the snapshot's name contains; snapshots of directories above, which show as
   *     {@code _name_inode}, count, too: those of a subvolume are seen like that in its data
   * @return the path of the snapshot below the directory, {@code .snap/<name>}
   * @throws VolumeException NOT_FOUND when no snapshot fits, INVALID_ARGUMENT when several do
   */
  static String path(CephFsMount mount, String id) {
    if (id.contains("/")) {
      throw VolumeException.invalid(
          "volume_context: backingSnapshotID " + id + " cannot be part of the name of a snapshot");
    }
    List<String> fitting =
        mount.names("/" + DirectorySnapshots.FOLDER).stream()
            .filter(name -> name.contains(id))
            .sorted()
            .toList();
    String what = "volume_context: backingSnapshotID " + id + " matches ";
    if (fitting.isEmpty()) {
      throw VolumeException.notFound(what + "no snapshot of " + mount.root());
    }
    if (fitting.size() > 1) {
      throw VolumeException.invalid(
          what + "several snapshots of " + mount.root() + ": " + String.join(", ", fitting));
    }
    return DirectorySnapshots.FOLDER + "/" + fitting.get(0);
  }
}
