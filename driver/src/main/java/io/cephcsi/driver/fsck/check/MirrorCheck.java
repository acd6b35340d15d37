package io.cephcsi.driver.fsck.check;

import io.cephcsi.bindings.cls.AncestryCheck;
import io.cephcsi.bindings.cls.HeaderSnapshot;
import io.cephcsi.bindings.cls.ImageCondition;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.MirroredImages;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.rbd.session.EntryOfImage;
import java.util.Optional;

/**
 * Says of a mirrored image without a journal entry whether it waits for one: the first call for a
 * volume makes it. Safe for several threads; methods block on the cluster.
 */
public final class MirrorCheck {
  private MirrorCheck() {}

  /** As {@link #waits(IoContext, String, String, boolean, ImageCondition)}, of an image by id. */
  public static boolean waits(IoContext io, String id, String name, boolean volume) {
    return ImageCondition.read(io, id, EntryOfImage.KEYS)
        .filter(image -> isMirrored(io, id, image) && waits(io, id, name, volume, image))
        .isPresent();
  }

  /** Whether an image is mirrored; one round trip, or none for a copy of another site's. */
  static boolean isMirrored(IoContext io, String id, ImageCondition image) {
    return image.features().contains(ImageFeature.NON_PRIMARY) || MirroredImages.contains(io, id);
  }

  /**
   * Whether the entry of a mirrored image may still be made: the metadata of a volume say what it
   * was, or its first copy from the other site is under way and brings them last. The entry of a
   * snapshot is made by no call; while its image is a copy, only the other site needs it.
   *
   * @param volume whether the image would be a volume's
   * @param image with the metadata {@link EntryOfImage#KEYS}
   */
  static boolean waits(IoContext io, String id, String name, boolean volume, ImageCondition image) {
    if (volume && EntryOfImage.isKnown(name, image.metadata())) {
      return true;
    }
    if (image.features().contains(ImageFeature.NON_PRIMARY)) {
      return !volume || !isCopied(io, id, image);
    }
    return image.features().contains(ImageFeature.JOURNALING) && isSecondary(io, id);
  }

  private static boolean isCopied(IoContext io, String id, ImageCondition image) {
    try {
      return ImageHeader.snapshots(io, id, image.snapshotIds()).stream()
          .map(HeaderSnapshot::mirror)
          .flatMap(Optional::stream)
          .anyMatch(part -> !part.half());
    } catch (CephException.NotFound e) {
      return false; // one was removed just now
    }
  }

  /** Mirroring by journal has the site of the primary in the journal of the image alone. */
  private static boolean isSecondary(IoContext io, String id) {
    AncestryCheck.requireOpenable(io, id);
    try (RbdImage image = new RbdPool(io).openByIdReadOnly(id)) {
      return image.mirroring().filter(mirroring -> !mirroring.primary()).isPresent();
    }
  }
}
