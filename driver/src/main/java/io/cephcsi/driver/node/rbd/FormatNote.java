package io.cephcsi.driver.node.rbd;

import io.cephcsi.bindings.cls.HeaderMetadata;
import io.cephcsi.driver.rbd.session.OpenImage;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The note in an image's metadata that it was proven blank and a format has begun. It names the
 * image: a clone has the metadata of its source, and what was restored into it.
 */
final class FormatNote {
  static final String KEY = "ceph-csi-java.formatting";
  static final String LUKS = "luks";

  private FormatNote() {}

  /** The text of a note. */
  static String text(String kind, String imageId) {
    return kind + " " + imageId;
  }

  /** Which of some kinds is being made on an image; empty for none; one round trip. */
  static Optional<String> find(OpenImage volume, String imageId, String... kinds) {
    Optional<String> found =
        HeaderMetadata.read(volume.pool().io(), imageId, List.of(KEY)).values().stream()
            .findFirst();
    return Stream.of(kinds)
        .filter(kind -> found.filter(text(kind, imageId)::equals).isPresent())
        .findFirst();
  }

  /** Whether a kind is being made on an image; one round trip. */
  static boolean isOf(OpenImage volume, String imageId, String kind) {
    return find(volume, imageId, kind).isPresent();
  }

  /** Writes the note past the lock of the image, which whoever serves the device may have. */
  static void write(OpenImage volume, String imageId, String kind) {
    volume.changeMetadata(imageId, Map.of(KEY, text(kind, imageId)), List.of());
  }

  /** Removes the note. */
  static void remove(OpenImage volume, String imageId) {
    volume.changeMetadata(imageId, Map.of(), List.of(KEY));
  }
}
