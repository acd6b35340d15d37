package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.error.ReturnCode;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdPool;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The id of an image, read from the object {@code rbd_id.NAME}, which holds it behind its length.
 */
public final class ImageId {
  private static final int MAX_BYTES = 4096;
  private static final int LONGEST = 48;
  private static final Pattern FORM = Pattern.compile("[A-Za-z0-9._-]{1," + LONGEST + "}");

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

  /**
   * Whether Ceph could have given an id. librbd gives hexadecimal digits: 14, before Ceph 10 up to
   * 24. It uses the names of data objects as a format of {@code printf}, and ends the process when
   * one has more than 95 bytes: {@code rbd_data.}, the id of a pool, this id and 17 more.
   */
  public static boolean isPossible(String id) {
    return FORM.matcher(id).matches();
  }

  /**
   * Requires an id that Ceph could have given.
   *
   * @throws CephException EBADMSG if it is another one
   */
  public static void require(IoContext io, String id) {
    if (!isPossible(id)) {
      String shown = id.substring(0, Math.min(id.length(), LONGEST));
      throw ReturnCode.exception(
          -Errno.EBADMSG.number(),
          "open",
          "image " + new RbdPool(io).describe(shown),
          "its id has characters that ids do not have, or is longer than " + LONGEST);
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
