package io.cephcsi.driver.node.rbd;

import io.cephcsi.driver.node.MountFlags;
import io.cephcsi.driver.node.VolumeUse;
import io.cephcsi.driver.node.attach.MapOptions;
import io.cephcsi.driver.node.attach.NbdLog;
import java.util.Map;
import java.util.Objects;

/** The parameters of StorageClasses for RBD whose options reach programs of nodes. */
public final class RbdOptions {
  private RbdOptions() {}

  /**
   * Requires that they are allowed.
   *
   * @throws io.cephcsi.driver.volume.VolumeException INVALID_ARGUMENT naming one that is not
   */
  public static void require(Map<String, String> parameters) {
    require(parameters, "");
  }

  private static void require(Map<String, String> parameters, String fsType) {
    MapOptions.MAP.require(parameters);
    MapOptions.UNMAP.require(parameters);
    Objects.requireNonNull(NbdLog.of(parameters));
    MkfsOptions.require(fsType, parameters.getOrDefault("mkfsOptions", ""));
  }

  /** Those of a volume that is used so. */
  static void require(Map<String, String> context, VolumeUse use) {
    require(context, use.fsType());
    MountFlags.require(use);
  }
}
