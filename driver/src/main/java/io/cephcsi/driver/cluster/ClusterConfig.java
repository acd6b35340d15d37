package io.cephcsi.driver.cluster;

import java.util.List;

/**
 * A cluster of the configuration.
 *
 * @param clusterId the name that StorageClasses and volume ids use
 * @param monitors the monitors' addresses
 * @param rbdNamespace the RADOS namespace of RBD images and their journal; empty for the default
 * @param cephFsNamespace the RADOS namespace of CephFS journals
 * @param subvolumeGroup the group of CephFS subvolumes
 * @param node what it says for nodes
 */
public record ClusterConfig(
    String clusterId,
    List<String> monitors,
    String rbdNamespace,
    String cephFsNamespace,
    String subvolumeGroup,
    NodeConfig node) {
  /** The CephFS namespace and subvolume group where the configuration names none. */
  public static final String CEPHFS_DEFAULT = "csi";

  /** Copies the list. */
  public ClusterConfig {
    monitors = List.copyOf(monitors);
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
