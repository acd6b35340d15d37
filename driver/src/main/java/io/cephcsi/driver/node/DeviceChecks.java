package io.cephcsi.driver.node;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Whether what this node has of an image already is in the way of staging it. */
final class DeviceChecks {
  private DeviceChecks() {}

  /**
   * Requires that it is of the same cluster, and that the volume is staged at no other path.
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

  /** A volume has one staging path on a node: another one's unstaging would end this one's. */
  private static void requireNotElsewhere(StageRequest request, Optional<AttachedDevice> device) {
    Path place = RbdStaging.place(request);
    List<Path> places =
        device.map(AttachedDevice::uses).orElse(List.of()).stream().map(Mount::target).toList();
    if (!places.contains(place)) {
      places.stream()
          .filter(other -> place.getFileName().equals(other.getFileName()))
          .filter(StagedImage::isBeside)
          .findFirst()
          .ifPresent(
              other -> {
                throw new VolumeException(
                    Reason.FAILED_PRECONDITION,
                    "volume "
                        + request.volumeId()
                        + " is staged at "
                        + other.getParent()
                        + ": unstage it there");
              });
    }
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
