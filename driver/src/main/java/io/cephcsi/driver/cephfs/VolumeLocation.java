package io.cephcsi.driver.cephfs;

import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.kms.FileSecret;
import java.util.Optional;

/**
 * Where the data of a volume are, for a node to mount.
 *
 * @param cluster the cluster
 * @param fileSystem the name of the file system
 * @param root the directory to mount: the volume's own, or for a shallow volume that of the
 *     subvolume, which must not be shown
 * @param snapshot of a shallow volume: the directory below the root that it shows; empty for others
 * @param secret what opens its files; empty when they are not encrypted
 */
public record VolumeLocation(
    ClusterConfig cluster,
    String fileSystem,
    String root,
    Optional<String> snapshot,
    Optional<FileSecret> secret) {
  VolumeLocation(ClusterConfig cluster, String fileSystem, String root, Optional<String> snapshot) {
    this(cluster, fileSystem, root, snapshot, Optional.empty());
  }

  /** The same, of a volume that is opened by a secret, or is not encrypted. */
  VolumeLocation openedBy(Optional<FileSecret> opening) {
    return new VolumeLocation(cluster, fileSystem, root, snapshot, opening);
  }
}
