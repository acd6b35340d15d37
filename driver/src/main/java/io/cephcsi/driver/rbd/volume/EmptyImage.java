package io.cephcsi.driver.rbd.volume;

import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.PreparedCreation;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rbd.RbdPool;
import java.util.Optional;

/**
 * Creates the image of a volume without a content source.
 *
 * @param pending the volume
 */
record EmptyImage(PendingVolume pending) {
  CreatedImage make() {
    CreatedImage image = makeImage();
    if (pending.entry().isEncrypted()) {
      pending.key(image.id()).setUp();
    }
    return image;
  }

  private CreatedImage makeImage() {
    long size = pending.request().capacity().sizeToCreate();
    try {
      return create(size);
    } catch (CephException.AlreadyExists e) {
      Optional<CreatedImage> others = madeByOthers();
      if (others.isPresent()) {
        return others.get();
      }
      pending.images().discard(pending.image(), false);
      return create(size);
    }
  }

  private CreatedImage create(long size) {
    PreparedCreation.Created created = pending.empty().orElseThrow().create(pending.image(), size);
    return new CreatedImage(created.id(), size, created.certain());
  }

  /**
   * An image without a parent that another program made, and did not record: old ones did not. It
   * may be in use for long.
   */
  private Optional<CreatedImage> madeByOthers() {
    if (!pending.attempt().isOfOtherProgram()) {
      return Optional.empty();
    }
    RbdPool pool = pending.pool();
    Optional<String> id = ImageId.find(pool, pending.image());
    return id.flatMap(found -> ImageHeader.read(pool.io(), found))
        .filter(header -> header.parent().isEmpty())
        .map(
            header -> {
              pending.requireSize(header.size());
              return new CreatedImage(id.orElseThrow(), header.size(), false);
            });
  }
}
