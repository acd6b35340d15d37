package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.ClassCall;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.StaleVersionException;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.bindings.rbd.RbdPool;
import java.util.Optional;

/**
 * Ends flattenings that were cut off before their last step. librbd copies all data into the clone,
 * has the parent forget the clone, and then has the clone forget the parent. A client that dies
 * between the last two leaves a clone that has all its data, and that cannot be opened when its
 * parent is removed, which nothing holds any more.
 *
 * <p>A clone of format 2 that was completed, and that the snapshot it was cloned from does not
 * list, is such a one, or the clone of an image that is being migrated: a parent that lists clones
 * is not removed, but a migration has the clone name its new parent first, and the new parent list
 * the clone after that. Whoever dies between the two leaves a clone that lacks the data of its
 * parent, for "rbd migration abort" to mend. So the clone of a parent that is being migrated stays
 * as it is, and so does that of a parent whose header was lost. For another one the last step is
 * made up for:
 *
 * <pre>
 *   rbd_header.CLONE   op_features_get  -  →  u64 (2: a clone of format 2)
 *                      parent_detach    -
 * </pre>
 *
 * <p>Safe for several threads and processes; blocks on the cluster.
 */
public final class CutOffFlatten {
  private static final int MAX_ANCESTORS = 64;

  private CutOffFlatten() {}

  /**
   * Ends the first one among an image and its ancestors; three round trips for each of them, and at
   * most three more for the parent of the one that is found.
   *
   * @param imageId an image that was completed; its ancestors were, as they have clones
   * @return whether there was one
   */
  public static boolean end(IoContext io, String imageId) {
    return end(io, imageId, 0);
  }

  private static boolean end(IoContext io, String imageId, int generation) {
    Optional<Clone> found = generation == MAX_ANCESTORS ? Optional.empty() : clone(io, imageId);
    if (found.isEmpty()) {
      return false;
    }
    ImageLink parent = found.get().parent();
    try (IoContext pool = io.cluster().openPool(parent.poolId(), parent.namespace())) {
      ImageLink here = new ImageLink(io.poolId(), io.namespace(), imageId);
      if (ImageHeader.children(pool, parent.imageId(), found.get().snapshot()).contains(here)) {
        return end(pool, parent.imageId(), generation + 1);
      }
      if (isMigratedOrLost(pool, parent.imageId())) {
        return false;
      }
    } catch (CephException.NotFound | CephException.Denied e) {
      return false; // without the parent's pool nothing is proven
    }
    return detach(io, imageId, found.get().version());
  }

  /**
   * Both images of a migration say so from before it changes a clone until it has ended. And an
   * image that was removed is in no directory any more: when only its header is gone, that was
   * lost, and may come back. A round trip, two more without a header.
   */
  private static boolean isMigratedOrLost(IoContext pool, String imageId) {
    Optional<ImageHeader> header = ImageHeader.read(pool, imageId);
    return header.isPresent()
        ? header.get().migration().isPresent()
        : ImageHeader.name(pool, imageId).isPresent() || TrashMark.isInTrash(pool, imageId);
  }

  /** A clone of format 2, at a version of its header. */
  private record Clone(ImageLink parent, long snapshot, long version) {}

  private static Optional<Clone> clone(IoContext io, String imageId) {
    try (ReadOperation read = new ReadOperation()) {
      var parent = RbdClass.call("parent_get").addTo(read);
      var operations = RbdClass.call("op_features_get").addTo(read);
      long version = io.operateVersioned(ImageHeader.object(imageId), read);
      ImageHeader.ParentLink link = ImageHeader.parent(parent.get());
      boolean isListed = (ClassCall.output(operations.get()).getLong() & RbdClass.CLONE_CHILD) != 0;
      return link.image()
          .filter(image -> isListed)
          .map(image -> new Clone(image, link.snapshotId(), version));
    } catch (CephException.NotFound e) {
      return Optional.empty();
    }
  }

  private static boolean detach(IoContext io, String imageId, long version) {
    try (WriteOperation write = new WriteOperation()) {
      write.assertVersion(version);
      RbdClass.call("parent_detach").addTo(write);
      io.operate(ImageHeader.object(imageId), write);
    } catch (StaleVersionException | CephException.NotFound e) {
      return false; // somebody else is at work on it
    }
    HeaderNotification.tellWatchers(new RbdPool(io), imageId);
    return true;
  }
}
