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
   * @param known what is written down in the staging path
   * @throws VolumeException FAILED_PRECONDITION naming what is in the way
   */
  static void require(
      StageRequest request, AttachRequest attach, Attacher attacher, Optional<StagedImage> known) {
    requireNotOfAnother(attach.cluster().clusterId(), attacher.find(attach.image()));
    requireNotElsewhere(request, attacher.find(attach.image()));
    requireOf(attach, attacher, known);
  }

  /**
   * What is staged of the image on this node is of the same cluster: images that no driver made may
   * have the same name on two clusters.
   */
  private static void requireNotOfAnother(String clusterId, Optional<AttachedDevice> device) {
    device
        .map(AttachedDevice::uses)
        .orElse(List.of())
        .forEach(
            mount ->
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
                                  + ": one of the same name cannot be staged beside it");
                        }));
  }

  /**
   * A volume has one staging path on a node, and so has an image that is written to, whatever
   * volumes it has: one of them could be a device below the other's file system. Several may read.
   */
  private static void requireNotElsewhere(StageRequest request, Optional<AttachedDevice> device) {
    Path place = RbdStaging.place(request);
    List<Path> others = device.map(one -> stagedElsewhere(one, place)).orElse(List.of());
    if (others.isEmpty() || shows(device.get(), place)) {
      return; // an earlier version may have staged it beside others
    }
    boolean onlyRead =
        request.use().readOnly() && BlockDevice.require(device.get().device()).isReadOnly();
    others.stream()
        .filter(other -> !onlyRead || other.endsWith(place.getFileName()))
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

  private static boolean shows(AttachedDevice device, Path place) {
    return device.uses().stream().anyMatch(mount -> mount.target().equals(place));
  }

  /** The places of other stagings of a device. */
  static List<Path> stagedElsewhere(AttachedDevice device, Path place) {
    return device.uses().stream()
        .map(Mount::target)
        .filter(other -> !other.equals(place) && StagedImage.isBeside(other))
        .toList();
  }

  /**
   * A device of the image that is there already is of the same cluster, whoever attached it. Where
   * it does not tell, only what was written down when it was attached for this volume says so; a
   * dead one that nobody uses is replaced.
   */
  private static void requireOf(
      AttachRequest request, Attacher attacher, Optional<StagedImage> known) {
    String clusterId = request.cluster().clusterId();
    attacher
        .find(request.image())
        .filter(
            device ->
                !attacher
                    .isOf(device, request)
                    .orElseGet(
                        () ->
                            isWrittenDown(known, device, clusterId)
                                || (!device.alive() && device.uses().isEmpty())))
        .ifPresent(
            device -> {
              throw new VolumeException(
                  Reason.FAILED_PRECONDITION,
                  device.device()
                      + " is "
                      + device.image()
                      + " of another cluster than \""
                      + clusterId
                      + "\", or does not tell of which: one of the same name cannot be staged"
                      + " beside it");
            });
  }

  private static boolean isWrittenDown(
      Optional<StagedImage> known, AttachedDevice device, String clusterId) {
    return known
        .filter(staged -> staged.clusterId().equals(clusterId))
        .filter(staged -> staged.device().equals(device.device().toString()))
        .isPresent();
  }
}
