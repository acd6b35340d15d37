package io.cephcsi.driver.cluster;

import java.util.List;

/**
 * What holds for clusters of the clusters file that do not say it themselves, as the options of
 * ceph-csi do.
 *
 * @param kernelMountOptions options of each mount of CephFS by the kernel, between commas
 * @param fuseMountOptions options of each mount of CephFS by ceph-fuse, between commas
 * @param crushLabels labels of nodes that say where they are in the CRUSH map, to read from what is
 *     near; empty to read as usual
 * @param cephFsNamespace where older versions of ceph-csi were told to keep the journals of CephFS:
 *     it is not used, and a cluster that says otherwise is warned of; empty for nowhere
 */
public record ClusterDefaults(
    String kernelMountOptions,
    String fuseMountOptions,
    List<String> crushLabels,
    String cephFsNamespace) {
  /** Where nothing is given. */
  public static final ClusterDefaults NONE = new ClusterDefaults("", "", List.of(), "");

  /** Copies the list. */
  public ClusterDefaults {
    crushLabels = List.copyOf(crushLabels);
  }
}
