package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rbd.RbdPool;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/**
 * The id of an image, read from the object {@code rbd_id.NAME}, which holds it behind its length.
 */
public final class ImageId {
  private static final int MAX_BYTES = 4096;

  private ImageId() {}

  /**
   * The id of an image; one round trip.
   *
   * @return empty if there is no image of this name
   */
  public static Optional<String> find(RbdPool pool, String name) {
    try {
      byte[] stored = pool.io().read("rbd_id." + name, 0, MAX_BYTES);
      ByteBuffer length = ByteBuffer.wrap(stored).order(ByteOrder.LITTLE_ENDIAN);
      if (stored.length < 4 || length.getInt(0) < 0 || length.getInt(0) > stored.length - 4) {
        return Optional.empty(); // being created or removed: the object exists, the id does not
      }
      return Optional.of(new String(stored, 4, length.getInt(0), StandardCharsets.UTF_8));
    } catch (CephException.NotFound e) {
      return Optional.empty();
    }
  }

  /** Whether there is an image of the old format 1, which has no id; one round trip. */
  public static boolean isOfFormat1(RbdPool pool, String name) {
    try {
      return pool.io().stat(name + ".rbd").size() > 0;
    } catch (CephException.NotFound e) {
      return false;
    }
  }
}
