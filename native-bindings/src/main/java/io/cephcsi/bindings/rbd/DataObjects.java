package io.cephcsi.bindings.rbd;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.error.ReturnCode;

/**
 * Which objects have the data of an image, as its header says; who may write to the header can name
 * any of any pool.
 *
 * @param prefix what their names begin with
 * @param poolId the id of their pool
 */
public record DataObjects(String prefix, long poolId) {
  /**
   * Requires the objects that librbd gives to an image ({@code CreateRequest}): {@code
   * rbd_data.<id>} in the image's own pool, {@code rbd_data.<id of the image's pool>.<id>} in
   * another one. No image of another pool has such objects, and those of a namespace stay in it.
   * Does not block.
   *
   * @throws CephException EBADMSG if these are others
   */
  public void requireOf(RbdPool pool, String imageId) {
    long own = pool.io().poolId();
    if (!prefix.equals("rbd_data." + (poolId == own ? "" : own + ".") + imageId)) {
      throw ReturnCode.exception(
          -Errno.EBADMSG.number(),
          "open",
          "image " + pool.describe(imageId),
          "its header names data that are not its own: objects " + prefix + " of pool " + poolId);
    }
  }
}
