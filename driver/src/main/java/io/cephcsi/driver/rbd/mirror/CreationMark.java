package io.cephcsi.driver.rbd.mirror;

import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.journal.JournalEntry;
import java.time.Instant;
import java.util.Optional;

/**
 * Tells whether an image was made anew since it was demoted, as a resync does. ceph-csi's format,
 * in the metadata of the image:
 *
 * <pre>
 *   .rbd.image.creation_time = seconds:[Unix time] nanos:[0 to 999999999]
 * </pre>
 *
 * <p>A key that begins with a dot is not mirrored, so that a new copy has none.
 */
final class CreationMark {
  private static final String KEY = ".rbd.image.creation_time";

  private CreationMark() {}

  /** Marks an image that is open for writing. One round trip if it is marked already. */
  static void set(RbdImage image) {
    String value = value(image.createdAt());
    if (image.metadata().get(KEY).filter(value::equals).isEmpty()) {
      image.metadata().set(KEY, value);
    }
  }

  /**
   * Whether the image is not the one that the journal or the mark knows. An image without a mark
   * was not demoted by a driver: then the journal tells. One round trip.
   */
  static boolean isNew(RbdImage image, JournalEntry entry) {
    Optional<String> mark = image.metadata().get(KEY);
    return mark.isPresent()
        ? !mark.get().equals(value(image.createdAt()))
        : entry.imageId().filter(image.id()::equals).isEmpty();
  }

  static String value(Instant time) {
    return "seconds:" + time.getEpochSecond() + " nanos:" + time.getNano();
  }
}
