package io.cephcsi.driver.node.rbd;

import io.cephcsi.driver.node.MountOwner;
import io.cephcsi.driver.node.Publications;
import io.cephcsi.driver.node.attach.AttachedDevice;
import io.cephcsi.driver.node.attach.Attachers;
import io.cephcsi.driver.node.fscrypt.EncryptedFolder;
import io.cephcsi.driver.node.machine.BlockDevice;
import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Which mounts on this node show RBD volumes. Safe for several threads.
 *
 * @param attachers of this node
 */
record RbdMounts(Attachers attachers) implements MountOwner {
  private static final String NO_DEVICE = "0:"; // of file systems such as tmpfs

  /**
   * Whether a mount may show a volume, dead or alive: its device is one of an attacher's, or staged
   * by this driver or ceph-csi, or lies on one that is, or has nothing behind it any more.
   */
  @Override
  public boolean isOfKind(Mount mount) {
    Path device = mount.blockDevice();
    MountTable table = MountTable.read();
    if (!mount.isDevice() && mount.device().startsWith(NO_DEVICE)) {
      return false; // whatever its source says
    }
    if (mount.isGone()) {
      return device.getName(1).toString().matches("(loop|nbd|rbd)[0-9]+"); // whose it was then
    }
    return attachers.byDevice(device).isPresent()
        || attachers.isDead(device)
        || isUnserved(device)
        || BlockDevice.usesOf(device, table).stream()
            .anyMatch(use -> StagedImage.isBeside(use.target()))
        || attachers.all().stream()
            .flatMap(attacher -> attacher.list().stream())
            .anyMatch(attached -> BlockDevice.usesOf(attached.device(), table).contains(mount));
  }

  @Override
  public Optional<Boolean> isStagedAs(String volumeId, Mount mount) {
    List<String> volumes =
        MountTable.read().all().stream()
            .filter(other -> mount.shows(other) || mount.shows(other.part(EncryptedFolder.NAME)))
            .map(Mount::target)
            .filter(StagedImage::isOfPlace)
            .map(mountPath -> String.valueOf(mountPath.getFileName()))
            .toList();
    return volumes.isEmpty() ? Optional.empty() : Optional.of(volumes.contains(volumeId));
  }

  @Override
  public boolean isDead(Mount mount) {
    return isOfKind(mount) && (mount.isGone() || attachers.isDead(mount.blockDevice()));
  }

  @Override
  public boolean isStaging(Path path) {
    return StagedImage.isBeside(path);
  }

  /** Whether the device behind a mount is one of ours and answers; does not hang. */
  boolean isAlive(Mount mount) {
    return attachers.byDevice(mount.blockDevice()).filter(AttachedDevice::alive).isPresent();
  }

  /**
   * Requires that what is mounted, or lies below it, is no live device of ours.
   *
   * @throws VolumeException FAILED_PRECONDITION naming the device that it is
   */
  void requireUnserved(Mount mount) {
    attachers.all().stream()
        .flatMap(attacher -> attacher.list().stream())
        .filter(AttachedDevice::alive)
        .filter(device -> device.uses().contains(mount))
        .findFirst()
        .ifPresent(
            device -> {
              throw new VolumeException(
                  Reason.FAILED_PRECONDITION,
                  mount.target() + " shows another device than was expected: " + device);
            });
  }

  /**
   * Requires that nothing is mounted at a path but what was staged there: that is written down, or
   * the path is named after the volume of the image, and drivers alone use such names.
   *
   * @param known what is written down
   * @throws VolumeException FAILED_PRECONDITION when something else is
   */
  void requireStaged(Optional<StagedImage> known, Path mountPath) {
    Publications.requireOfKind(mountPath, this::isOfKind);
    String id = String.valueOf(mountPath.getFileName());
    Optional<Mount> there = MountTable.read().at(mountPath).filter(mount -> known.isEmpty());
    boolean foreign =
        VolumeId.parse(id).isEmpty()
            || there
                .flatMap(mount -> attachers.byDevice(mount.blockDevice()))
                .filter(device -> !device.image().isOfVolume(id))
                .isPresent();
    if (there.isPresent() && foreign) {
      throw Publications.foreign(there.get());
    }
  }

  /** Whether a device of a kind that attachers make is empty or gone. */
  private static boolean isUnserved(Path device) {
    String name = String.valueOf(device.getFileName());
    Path block = Path.of("/sys/block", name);
    return device.startsWith("/dev")
        && ((name.matches("loop[0-9]+") && !Files.exists(block.resolve("loop/backing_file")))
            || (name.matches("nbd[0-9]+") && !Files.exists(block.resolve("pid")))
            || (name.matches("rbd[0-9]+") && !Files.exists(block)));
  }
}
