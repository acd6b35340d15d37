package io.cephcsi.driver.rbd.mirror;

import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.MirrorInfo;
import io.cephcsi.bindings.rbd.MirrorStatus;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.rbd.session.OpenVolume;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.Optional;

/** Reads the mirroring of volumes, and refuses what their state does not allow. */
final class MirroredImage {
  private MirroredImage() {}

  /** The mirroring of a volume's image, and what the daemons say of it. */
  static MirrorStatus status(OpenVolume volume) {
    try (RbdImage image = volume.openReadOnly()) {
      return image.mirror().status();
    }
  }

  /**
   * The mirroring of an image that must be mirrored.
   *
   * @param mirroring what was read
   * @param otherwise the reason if it is not
   * @throws VolumeException ABORTED while its mirroring begins or ends
   */
  static MirrorInfo require(OpenVolume volume, Optional<MirrorInfo> mirroring, Reason otherwise) {
    MirrorInfo info =
        mirroring.orElseThrow(
            () -> new VolumeException(otherwise, "volume " + volume.id() + " is not mirrored"));
    requireSettled(volume, info);
    return info;
  }

  /** As {@link #require(OpenVolume, Optional, Reason)}; FAILED_PRECONDITION if it is not. */
  static MirrorInfo require(OpenVolume volume, Optional<MirrorInfo> mirroring) {
    return require(volume, mirroring, Reason.FAILED_PRECONDITION);
  }

  /**
   * Whether a volume's image is the primary. One that is not mirrored is INVALID_ARGUMENT:
   * FAILED_PRECONDITION would have the caller of a promotion force it.
   *
   * @throws VolumeException INVALID_ARGUMENT; ABORTED while its mirroring begins or ends
   */
  static boolean isPrimary(OpenVolume volume, RbdImage image) {
    return require(volume, image.mirroring(), Reason.INVALID_ARGUMENT).primary();
  }

  /** Whether librbd lets a primary be written: not after a promotion or demotion was cut off. */
  static boolean isWritable(RbdImage image) {
    return !image.features().contains(ImageFeature.NON_PRIMARY);
  }

  /**
   * Refuses an image whose mirroring begins or ends.
   *
   * @throws VolumeException ABORTED
   */
  static void requireSettled(OpenVolume volume, MirrorInfo info) {
    if (info.state() != MirrorInfo.State.ENABLED) {
      throw new VolumeException(
          Reason.ABORTED,
          "the mirroring of volume "
              + volume.id()
              + (info.state() == MirrorInfo.State.DISABLING
                  ? " is being ended, or that was interrupted: disable it again"
                  : " is being begun by the site's daemon")
              + "; try again");
    }
  }
}
