package io.cephcsi.driver.rbd.image;

import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.journal.JournalEntry;
import java.util.Optional;

/**
 * The current image of a volume or snapshot: the recorded one, or one that replaced it, as {@code
 * rbd migration} does.
 *
 * @param id its id
 * @param header of it
 */
public record FoundImage(String id, ImageHeader header) {
  /**
   * Looks an image up; one round trip if it is the recorded one.
   *
   * @return empty when it is gone
   */
  public static Optional<FoundImage> of(RbdPool pool, JournalEntry entry) {
    return entry
        .imageId()
        .flatMap(id -> read(pool, id))
        .or(() -> ImageId.find(pool, entry.name()).flatMap(id -> read(pool, id)));
  }

  private static Optional<FoundImage> read(RbdPool pool, String id) {
    return ImageHeader.read(pool.io(), id).map(header -> new FoundImage(id, header));
  }
}
