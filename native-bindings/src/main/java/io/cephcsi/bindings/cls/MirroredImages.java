package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ReadOperation;

/**
 * Which images of a pool are mirrored, read without opening them.
 *
 * <pre>
 *   rbd_mirroring    mirror_image_get    in  string image    ENOENT: it is not mirrored
 * </pre>
 */
public final class MirroredImages {
  private static final String MIRRORING = "rbd_mirroring";

  private MirroredImages() {}

  /**
   * Whether an image is mirrored, as primary or secondary; one round trip. Blocks, and is safe for
   * several threads.
   *
   * @param imageId may be of no image
   * @throws CephException if the pool cannot be read
   */
  public static boolean contains(IoContext io, String imageId) {
    try (ReadOperation read = new ReadOperation()) {
      RbdClass.call("mirror_image_get").string(imageId).addTo(read);
      io.operate(MIRRORING, read);
      return true;
    } catch (CephException.NotFound e) {
      return false;
    }
  }
}
