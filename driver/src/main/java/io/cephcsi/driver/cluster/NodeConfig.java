package io.cephcsi.driver.cluster;

import java.util.List;

/**
 * The settings of a cluster for node plugins.
 *
 * @param kernelMountOptions options of each mount of CephFS by the kernel, between commas
 * @param fuseMountOptions options of each mount of CephFS by ceph-fuse, between commas
 * @param rbdNetwork the file of the network namespace in which images are attached; empty for the
 *     driver's own
 * @param cephFsNetwork the file of the network namespace in which CephFS is mounted; empty for the
 *     driver's own
 * @param crushLabels labels of nodes that say where they are in the CRUSH map, to read from what is
 *     near; empty to read as usual
 */
public record NodeConfig(
    String kernelMountOptions,
    String fuseMountOptions,
    String rbdNetwork,
    String cephFsNetwork,
    List<String> crushLabels) {
  /** Where the configuration says nothing. */
  public static final NodeConfig NOTHING = new NodeConfig("", "", "", "", List.of());

  /** Copies the list. */
  public NodeConfig {
    crushLabels = List.copyOf(crushLabels);
  }
}
