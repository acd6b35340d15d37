package io.cephcsi.driver.node;

import java.util.Map;

/** Checks the parameters of StorageClasses whose options reach programs of nodes. */
public final class NodeOptions {
  private NodeOptions() {}

  /**
   * Requires that those for RBD are allowed.
   *
   * @throws io.cephcsi.driver.volume.VolumeException INVALID_ARGUMENT naming one that is not
   */
  public static void requireRbd(Map<String, String> parameters) {
    requireRbd(parameters, "");
  }

  private static void requireRbd(Map<String, String> parameters, String fsType) {
    MapOptions.MAP.require(parameters);
    MapOptions.UNMAP.require(parameters);
    MkfsOptions.require(fsType, parameters.getOrDefault("mkfsOptions", ""));
  }

  /** Those of a volume that is used so. */
  static void requireRbd(Map<String, String> context, VolumeUse use) {
    requireRbd(context, use.fsType());
    MountFlags.require(use);
  }

  /**
   * Requires that those for CephFS are allowed.
   *
   * @throws io.cephcsi.driver.volume.VolumeException INVALID_ARGUMENT naming one that is not
   */
  public static void requireCephFs(Map<String, String> parameters) {
    CephFsOptions.KERNEL.require(parameters);
    CephFsOptions.FUSE.require(parameters);
  }
}
