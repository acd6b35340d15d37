package io.cephcsi.driver.cephfs;

import io.cephcsi.driver.cluster.ClusterConfig;
import java.util.Optional;

/**
 * Where the data of a volume are, for a node to mount.
 *
 * @param cluster the cluster
 * @param fileSystem the name of the file system
 * @param root the directory to mount: the volume's own, or for a shallow volume that of the
 *     subvolume, which must not be shown
 * @param snapshot of a shallow volume: the directory below the root that it shows; empty for others
 */
public record VolumeLocation(
    ClusterConfig cluster, String fileSystem, String root, Optional<String> snapshot) {}
