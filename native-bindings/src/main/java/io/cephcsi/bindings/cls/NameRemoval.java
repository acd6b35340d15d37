package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.rados.ClassCall;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.bindings.rbd.RbdPool;

/**
 * Removes the name of an image, unless another image has the name by now.
 *
 * <pre>
 *   rbd_directory    dir_remove_image   string name · string id  →  ESTALE: another one's name
 *   rbd_id.NAME      compared with the id, and removed
 * </pre>
 */
public final class NameRemoval {
  private NameRemoval() {}

  /**
   * Frees a name that leads to an image without a header, such as one that a process died over
   * while it was made; three round trips. The object map goes with it, which is written together
   * with the header. Nothing happens to another image that has the name.
   *
   * @param id the id that the name leads to
   */
  public static void forget(RbdPool pool, String name, String id) {
    try {
      pool.io().remove("rbd_object_map." + id);
    } catch (CephException.NotFound e) {
      // not that far
    }
    remove(pool.io(), name, id);
  }

  /** Takes a name away from the image of an id; two round trips. */
  static void remove(IoContext io, String name, String id) {
    try (WriteOperation write = new WriteOperation()) {
      RbdClass.call("dir_remove_image").string(name).string(id).addTo(write);
      io.operate("rbd_directory", write);
    } catch (CephException.NotFound e) {
      // done before
    } catch (CephException e) {
      if (e.errno() != Errno.ESTALE) {
        throw e;
      }
    }
    removeIdObject(io, name, id);
  }

  /** Removes the object that leads from a name to an id, if it leads to this one. */
  static void removeIdObject(IoContext io, String name, String id) {
    try (WriteOperation write = new WriteOperation()) {
      write.assertExists().compareData(0, ClassCall.content().string(id).input()).remove();
      io.operate("rbd_id." + name, write);
    } catch (CephException.NotFound | CephException.Canceled e) {
      // done before, or another image's
    }
  }
}
