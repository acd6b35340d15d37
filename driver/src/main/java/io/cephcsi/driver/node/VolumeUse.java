package io.cephcsi.driver.node;

import java.util.List;

/**
 * How the CO wants to use a volume: the volume capability of a request.
 *
 * @param block as a block device; else mounted as a file system
 * @param fsType the file system; empty for any, ext4 on a blank device
 * @param mountFlags options for mounting, not checked yet
 * @param group the group that is to own a mounted volume, by number; empty for none
 * @param readOnly the access mode only reads
 * @param shared several nodes may use it at once
 * @param singleTarget it may be published at one target path only
 */
public record VolumeUse(
    boolean block,
    String fsType,
    List<String> mountFlags,
    String group,
    boolean readOnly,
    boolean shared,
    boolean singleTarget) {
  /** Copies the flags, one each: several may be in one, between commas. */
  public VolumeUse {
    mountFlags = List.copyOf(MountFlags.split(mountFlags));
  }

  /** Whether its file system is mounted for reading only, by the access mode or an option. */
  public boolean mountedReadOnly() {
    return readOnly || mountFlags.contains("ro");
  }
}
