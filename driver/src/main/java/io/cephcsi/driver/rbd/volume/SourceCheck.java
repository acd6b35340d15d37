package io.cephcsi.driver.rbd.volume;

import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.ImageLink;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.TrashEntry;
import io.cephcsi.driver.volume.ContentSource;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.Optional;

/**
 * Checks that an existing volume has the content source that a repeated CreateVolume names.
 *
 * @param pending the volume
 */
record SourceCheck(PendingVolume pending) {
  /**
   * Requires that an existing volume was made from the source that is asked for. The journal tells;
   * of a volume that another driver made its parents tell, unless it has been flattened since.
   *
   * @throws VolumeException ALREADY_EXISTS if it was not, or if that is unknown
   */
  void requireSame(ImageHeader header) {
    Optional<ContentSource> wanted = pending.request().source();
    Optional<String> recorded = pending.entry().contentSource();
    boolean same =
        recorded.isPresent()
            ? pending.request().sourceId().equals(recorded)
            : wanted.isEmpty()
                ? header.parent().isEmpty()
                : header.parent().isPresent() && isFrom(header.parent().get(), wanted.get());
    if (!same) {
      throw new VolumeException(
          Reason.ALREADY_EXISTS,
          "volume "
              + pending.entry().requestName()
              + " exists and was not made from "
              + pending.request().sourceId().orElse("nothing"));
    }
  }

  private boolean isFrom(ImageLink parent, ContentSource wanted) {
    if (wanted instanceof ContentSource.OfSnapshot) {
      return isImageOf(parent, wanted);
    }
    IoContext io = pending.pool().io();
    if (!ImageId.find(pending.pool(), pending.temporary()).equals(Optional.of(parent.imageId()))) {
      return false;
    }
    Optional<ImageLink> origin =
        ImageHeader.read(io, parent.imageId()).flatMap(ImageHeader::parent);
    // The temporary image is ours to flatten; then it stands for its source.
    return origin.isEmpty() || isImageOf(origin.get(), wanted);
  }

  /** Whether an image is that of a source, which may be deleted and in the trash by now. */
  private boolean isImageOf(ImageLink image, ContentSource source) {
    Optional<CloneSource.Known> known = CloneSource.find(pending.session(), source);
    if (known.isPresent()) {
      return image.poolId() == known.get().pool().io().poolId()
          && known.get().entry().imageId().equals(Optional.of(image.imageId()));
    }
    if (image.poolId() != source.id().location()) {
      return false;
    }
    return new RbdPool(pending.session().lease().rbdPool(source.id().location()))
        .trashEntry(image.imageId())
        .map(TrashEntry::name)
        .filter(name -> name.endsWith(source.id().uuid().toString()))
        .isPresent();
  }
}
