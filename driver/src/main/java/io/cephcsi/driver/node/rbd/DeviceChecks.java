package io.cephcsi.driver.node.rbd;

import io.cephcsi.driver.node.StageRequest;
import io.cephcsi.driver.node.attach.AttachRequest;
import io.cephcsi.driver.node.attach.AttachedDevice;
import io.cephcsi.driver.node.attach.Attacher;
import io.cephcsi.driver.node.machine.BlockDevice;
import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Whether what this node has of an image already is in the way of staging it. */
final class DeviceChecks {
  private DeviceChecks() {}

  /**
   * Requires that it is of the same cluster, and that the image is staged at no other path.
   *
   * @param found the device of the image; empty when it has none
   * @param known what is written down in the staging path
   * @throws VolumeException FAILED_PRECONDITION naming what is in the way
   */
  static void require(
      StageRequest request,
      AttachRequest attach,
      Attacher attacher,
      Optional<AttachedDevice> found,
      Optional<StagedImage> known) {
    if (found.isPresent()) {
      AttachedDevice device = found.get();
      List<Mount> uses = device.uses();
      requireNotOfAnother(attach.cluster().clusterId(), uses);
      requireNotElsewhere(request, device, uses);
      requireOf(attach, attacher, device, uses, known);
    }
  }

  /**
   * What is staged of the image on this node is of the same cluster: images that no driver made may
   * have the same name on two clusters.
   */
  private static void requireNotOfAnother(String clusterId, List<Mount> uses) {
    for (Mount mount : uses) {
      StagedImage.beside(mount.target())
          .filter(staged -> !staged.isOf(clusterId))
          .ifPresent(
              staged -> {
                throw new VolumeException(
                    Reason.FAILED_PRECONDITION,
                    "this node has "
                        + staged.image()
                        + " of cluster \""
                        + staged.clusterId()
                        + "\" at "
                        + mount.target()
                        + ": an image of the same name cannot be staged at the same time");
              });
    }
  }

  /**
   * A volume has one staging path on a node, and so has an image that is written to, whatever
   * volumes it has: one of them could be a device below the other's file system. Several may read.
   */
  private static void requireNotElsewhere(
      StageRequest request, AttachedDevice device, List<Mount> uses) {
    Path mountPath = RbdStaging.mountPath(request);
    List<Path> others = stagedElsewhere(uses, mountPath);
    if (others.isEmpty() || uses.stream().anyMatch(mount -> mount.target().equals(mountPath))) {
      return; // an earlier version may have staged it beside others
    }
    boolean onlyRead =
        request.use().readOnly() && BlockDevice.require(device.device()).isReadOnly();
    others.stream()
        .filter(other -> !onlyRead || other.endsWith(mountPath.getFileName()))
        .findFirst()
        .ifPresent(
            other -> {
              throw new VolumeException(
                  Reason.FAILED_PRECONDITION,
                  "the image of volume "
                      + request.volumeId()
                      + " is staged as volume "
                      + other.getFileName()
                      + " at "
                      + other.getParent()
                      + ": unstage it there");
            });
  }

  /** Where else an image is staged, of the mounts of its device. */
  static List<Path> stagedElsewhere(List<Mount> uses, Path mountPath) {
    return uses.stream()
        .map(Mount::target)
        .filter(other -> !other.equals(mountPath) && StagedImage.isBeside(other))
        .toList();
  }

  /**
   * A device of the image that is there already is of the same cluster, whoever attached it. Where
   * it does not tell, only what was written down when it was attached for this volume says so; a
   * dead one that nobody uses is replaced.
   */
  private static void requireOf(
      AttachRequest request,
      Attacher attacher,
      AttachedDevice device,
      List<Mount> uses,
      Optional<StagedImage> known) {
    String clusterId = request.cluster().clusterId();
    boolean same =
        attacher
            .isOf(device, request)
            .orElseGet(
                () ->
                    isWrittenDown(known, device, clusterId) || (!device.alive() && uses.isEmpty()));
    if (!same) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          device.device()
              + " is "
              + device.image()
              + " of another cluster than \""
              + clusterId
              + "\", or of an unknown one: two images of one name cannot be staged at once");
    }
  }

  private static boolean isWrittenDown(
      Optional<StagedImage> known, AttachedDevice device, String clusterId) {
    return known
        .filter(staged -> staged.clusterId().equals(clusterId))
        .filter(staged -> staged.device().equals(device.device().toString()))
        .isPresent();
  }
}
