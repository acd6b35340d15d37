package io.cephcsi.driver.cephfs;

import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.cluster.MonitorQueries;
import io.cephcsi.driver.volume.CheckedName;
import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.StaticVolume;
import io.cephcsi.driver.volume.VolumeException;
import java.util.Arrays;
import java.util.Optional;

/**
 * A directory of a file system that no driver made, or a snapshot of it.
 *
 * @param volumeId the identifier that it has as a volume
 * @param clusterId its cluster in the configuration
 * @param fileSystem the name of the file system; empty for the only one
 * @param root the directory
 * @param snapshotId a part of the snapshot's name; empty for the directory itself
 */
record StaticDirectory(
    String volumeId,
    String clusterId,
    Optional<String> fileSystem,
    String root,
    Optional<String> snapshotId) {
  /**
   * The directory of a static volume: {@code rootPath} of its context, and {@code fsName} and
   * {@code backingSnapshotID} if they are there.
   *
   * @throws VolumeException INVALID_ARGUMENT naming what is missing
   */
  static StaticDirectory of(StaticVolume volume) {
    return new StaticDirectory(
        volume.handle(),
        volume.clusterId(),
        volume.given("fsName").map(n -> CheckedName.of("volume_context: fsName", n).toString()),
        root(volume.required("rootPath")),
        volume
            .given("backingSnapshotID")
            .map(id -> PlainText.require("volume_context: backingSnapshotID", id)));
  }

  private static String root(String path) {
    PlainText.require("volume_context: rootPath", path);
    if (!path.startsWith("/") || Arrays.asList(path.split("/", -1)).contains("..")) {
      throw VolumeException.invalid(
          "volume_context: rootPath must begin with / and have no .., not " + path);
    }
    String plain = path.replaceAll("/+", "/");
    return plain.length() > 1 && plain.endsWith("/")
        ? plain.substring(0, plain.length() - 1)
        : plain;
  }

  /**
   * Finds it on its cluster; a mount and a few round trips, as the user who is to use it.
   *
   * @throws VolumeException NOT_FOUND when there is no such file system, directory or snapshot
   */
  VolumeLocation find(Lease lease, SnapshotPaths paths) {
    String name = fileSystem.orElseGet(() -> only(lease));
    return paths
        .mounted(
            lease,
            name,
            root,
            mount ->
                Optional.of(
                    new VolumeLocation(
                        lease.config(),
                        name,
                        root,
                        snapshotId.map(id -> StaticSnapshot.path(mount, id)))))
        .orElseThrow(
            () ->
                VolumeException.notFound(
                    "volume "
                        + volumeId
                        + " does not exist: file system "
                        + name
                        + " has no directory "
                        + root));
  }

  private String only(Lease lease) {
    var all = MonitorQueries.fileSystems(lease.cluster());
    if (all.size() != 1) {
      throw VolumeException.invalid(
          "volume_context: fsName is required: cluster \""
              + clusterId
              + "\" has "
              + all.size()
              + " file systems");
    }
    return all.get(0).name();
  }
}
