package io.cephcsi.driver.cluster;

import java.util.List;
import java.util.Optional;

/**
 * A cluster of the configuration.
 *
 * @param clusterId the name that StorageClasses and volume ids use
 * @param monitors the monitors' addresses
 * @param rbdNamespace the RADOS namespace of RBD images and their journal; empty for the default
 * @param cephFsNamespace the RADOS namespace of CephFS journals
 * @param subvolumeGroup the group of CephFS subvolumes
 * @param node what it says for nodes
 * @param replication where its RBD volumes are mirrored to; empty: under the same names
 */
public record ClusterConfig(
    String clusterId,
    List<String> monitors,
    String rbdNamespace,
    String cephFsNamespace,
    String subvolumeGroup,
    NodeConfig node,
    Optional<ReplicationTarget> replication) {
  /** The CephFS namespace and subvolume group where the configuration names none. */
  public static final String CEPHFS_DEFAULT = "csi";

  /** Copies the list. */
  public ClusterConfig {
    monitors = List.copyOf(monitors);
  }

  /** Mirrored under the same names, if at all. */
  public ClusterConfig(
      String clusterId,
      List<String> monitors,
      String rbdNamespace,
      String cephFsNamespace,
      String subvolumeGroup,
      NodeConfig node) {
    this(
        clusterId, monitors, rbdNamespace, cephFsNamespace, subvolumeGroup, node, Optional.empty());
  }

  /** With nothing for nodes. */
  public ClusterConfig(
      String clusterId,
      List<String> monitors,
      String rbdNamespace,
      String cephFsNamespace,
      String subvolumeGroup) {
    this(clusterId, monitors, rbdNamespace, cephFsNamespace, subvolumeGroup, NodeConfig.NOTHING);
  }
}
