package io.cephcsi.driver.node.machine;

import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import java.util.Set;

/** The file systems that this driver makes on block devices. */
public final class DiskFileSystems {
  public static final String EXT4 = "ext4";
  public static final String XFS = "xfs";

  private static final Set<String> ALL = Set.of(EXT4, XFS);

  private DiskFileSystems() {}

  /** Whether this driver makes such file systems. */
  public static boolean isKnown(String fsType) {
    return ALL.contains(fsType);
  }

  /**
   * Requires a file system that this driver can make, or none.
   *
   * @throws VolumeException INVALID_ARGUMENT for any other
   */
  public static void requireKnown(String fsType) {
    if (!fsType.isEmpty() && !isKnown(fsType)) {
      throw VolumeException.invalid(
          "fs_type " + PlainText.show(fsType) + " is none of ext4 and xfs");
    }
  }
}
