package io.cephcsi.driver.node.cephfs;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.linux.MountedFileSystem;
import io.cephcsi.driver.node.LivenessProbes;
import io.cephcsi.driver.node.VolumeStats;
import io.cephcsi.driver.node.VolumeStats.Amount;
import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * How large mounted volumes are, and how full. Safe for several threads.
 *
 * @param mounts tell which mounts show volumes
 * @param stagings what is staged where
 * @param probes ask the file systems
 */
record CephFsRoom(CephFsMounts mounts, StagingRecords stagings, LivenessProbes probes) {
  /** Begins the part of a file system that a shallow volume shows. */
  static final String SNAPSHOTS = "/.snap/";

  /**
   * A volume that is mounted.
   *
   * @param mount that is asked for
   * @param whole where all of it is mounted, which has its quota: a folder of it has none
   */
  private record Mounted(Mount mount, Mount whole) {}

  /** Its size in bytes. The quota holds at once, wherever the volume is mounted. */
  long size(String id, Path volumePath) {
    Mounted volume = mounted(id, volumePath);
    long total = room(volume.mount).totalBytes(); // in units of 4 MiB, and asked first: may hang
    return new MountedFileSystem(volume.whole.target()).quotaBytes().orElse(total);
  }

  private MountedFileSystem.Room room(Mount mount) {
    return probes
        .room(mount)
        .orElseThrow(
            () -> new VolumeException(Reason.UNAVAILABLE, mount.target() + " does not answer"));
  }

  private Mounted mounted(String id, Path volumePath) {
    MountTable table = MountTable.read();
    Optional<Mount> staged = stagings.find(id).flatMap(table::at);
    Mount mount =
        table
            .at(volumePath)
            .filter(mounts::isOfKind)
            .filter(there -> staged.isEmpty() || CephFsMounts.isOf(staged.get(), there))
            .orElseThrow(
                () ->
                    VolumeException.notFound("volume " + id + " is not mounted at " + volumePath));
    return new Mounted(mount, staged.orElse(mount));
  }

  /** As {@link io.cephcsi.driver.node.NodeVolumes#stats}. */
  VolumeStats stats(String id, Path volumePath) {
    Mounted volume = mounted(id, volumePath);
    try {
      return probes
          .room(volume.mount)
          .map(room -> isSnapshot(volume.mount) ? ofSnapshot(volume) : of(room))
          .map(bytes -> new VolumeStats(bytes, Optional.empty(), false, "the volume is healthy"))
          .orElseGet(() -> VolumeStats.dead("the file system does not answer"));
    } catch (CephException e) {
      return VolumeStats.dead("the mount is dead, stage the volume again: " + e.getMessage());
    }
  }

  private static boolean isSnapshot(Mount mount) {
    return mount.root().startsWith(SNAPSHOTS);
  }

  /** CephFS bounds bytes, by the quota, and not files. */
  private static Optional<Amount> of(MountedFileSystem.Room room) {
    return Optional.of(new Amount(room.totalBytes(), room.usedBytes(), room.availableBytes()));
  }

  /**
   * A snapshot has no room, and no quota that {@code statvfs} heeds: that would tell the room of
   * the whole cluster. It is as large as it was allowed to be, or else as what it holds.
   */
  private static Optional<Amount> ofSnapshot(Mounted volume) {
    OptionalLong used = new MountedFileSystem(volume.mount.target()).contentBytes();
    OptionalLong quota = new MountedFileSystem(volume.whole.target()).quotaBytes();
    return used.isEmpty()
        ? Optional.empty()
        : Optional.of(new Amount(Math.max(used.getAsLong(), quota.orElse(0)), used.getAsLong(), 0));
  }
}
