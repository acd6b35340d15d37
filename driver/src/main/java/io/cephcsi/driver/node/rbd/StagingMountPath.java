package io.cephcsi.driver.node.rbd;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.driver.volume.VolumeException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Where a staged RBD volume is mounted: below its staging path, named by its identifier, as in
 * ceph-csi.
 */
final class StagingMountPath {
  private static final int LONGEST_NAME = 255; // NAME_MAX, in bytes

  private StagingMountPath() {}

  /** The path of a volume; empty when its identifier cannot be a name: it is never staged. */
  static Optional<Path> of(Path stagingPath, String volumeId) {
    boolean isName =
        !volumeId.isEmpty()
            && volumeId.getBytes(UTF_8).length <= LONGEST_NAME
            && volumeId.indexOf('/') < 0
            && volumeId.indexOf('\0') < 0
            && !volumeId.equals(".")
            && !volumeId.equals("..")
            && !volumeId.startsWith(StagedImage.FILE);
    try {
      return isName ? Optional.of(stagingPath.resolve(volumeId)) : Optional.empty();
    } catch (InvalidPathException e) {
      return Optional.empty(); // not in this locale
    }
  }

  /**
   * The path of a volume that is to be staged.
   *
   * @throws VolumeException INVALID_ARGUMENT when its identifier cannot be a name
   */
  static Path require(Path stagingPath, String volumeId) {
    return of(stagingPath, volumeId)
        .orElseThrow(
            () ->
                VolumeException.invalid(
                    "volume_id: \""
                        + volumeId
                        + "\" cannot be the name of a file, which has at most "
                        + LONGEST_NAME
                        + " bytes and no /"));
  }
}
