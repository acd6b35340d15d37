package io.cephcsi.bindings.rbd;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.rados.ClassCall;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.WriteOperation;

/**
 * Takes the name of an image away, and only of that image: another one that was given the name
 * meanwhile keeps it.
 *
 * <pre>
 *   rbd_directory    dir_remove_image   string name · string id  →  ESTALE: another one's name
 *   rbd_id.NAME      compared with the id, and removed
 * </pre>
 *
 * <p>Two round trips.
 */
final class NameRemoval {
  private NameRemoval() {}

  /** Takes a name away from the image of an id. */
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
