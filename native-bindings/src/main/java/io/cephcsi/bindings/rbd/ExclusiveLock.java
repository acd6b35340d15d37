package io.cephcsi.bindings.rbd;

import static io.cephcsi.bindings.error.ReturnCode.check;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.internal.GrowingBuffer;
import io.cephcsi.bindings.internal.LibRbd;
import io.cephcsi.bindings.internal.NativeMemory;
import java.util.ArrayList;
import java.util.List;

/**
 * The exclusive lock of an open image ({@code rbd_lock_acquire} and others). A view: usable until
 * the image is closed. Safe for several threads; every call blocks.
 *
 * <p>Without {@link #acquire()} librbd takes the lock by itself when the image is written and hands
 * it over when another client wants it. With it, the lock stays here and writes of others fail with
 * EROFS at once, while changes of the image by others (resize, snapshots, sparsify) are carried out
 * by this client. After {@link #release()} this open image's own writes fail with EROFS too: librbd
 * does not go back to taking the lock by itself.
 */
public final class ExclusiveLock {
  private static final int EXCLUSIVE = 0;

  private final RbdImage image;

  ExclusiveLock(RbdImage image) {
    this.image = image;
  }

  /**
   * Takes the lock and keeps it ({@code rbd_lock_acquire}).
   *
   * @throws CephException with EROFS if another client keeps it, EINVAL if the image has no feature
   *     {@link ImageFeature#EXCLUSIVE_LOCK}
   */
  public void acquire() {
    image.call("rbd_lock_acquire", (p, arena) -> LibRbd.rbd_lock_acquire(p, EXCLUSIVE));
  }

  /**
   * Gives the lock away ({@code rbd_lock_release}).
   *
   * @throws CephException with EINVAL if it is not held
   */
  public void release() {
    image.call("rbd_lock_release", (p, arena) -> LibRbd.rbd_lock_release(p));
  }

  /** Whether this open image holds the lock ({@code rbd_is_exclusive_lock_owner}). */
  public boolean isOwner() {
    return image.use(
        (pointer, arena) -> {
          long cell = arena.cell(0);
          check(
              LibRbd.rbd_is_exclusive_lock_owner(pointer, cell),
              "rbd_is_exclusive_lock_owner",
              image.path());
          return arena.getInt(cell) != 0;
        });
  }

  /**
   * Who holds the lock ({@code rbd_lock_get_owners}): addresses as {@link Watcher#address()} has
   * them.
   *
   * @throws CephException with EINVAL if the image has no feature {@link
   *     ImageFeature#EXCLUSIVE_LOCK}
   */
  public List<String> owners() {
    try {
      return image.use((pointer, arena) -> owners(pointer, arena.cell(0)));
    } catch (CephException.NotFound e) {
      return List.of();
    }
  }

  private List<String> owners(long pointer, long mode) {
    return GrowingBuffer.read(
        Long.BYTES,
        4,
        "rbd_lock_get_owners",
        image.path(),
        (owners, capacity, cell) -> LibRbd.rbd_lock_get_owners(pointer, mode, owners, cell),
        (owners, code, count) -> decode(owners, count));
  }

  private static List<String> decode(long array, long count) {
    try {
      List<String> owners = new ArrayList<>();
      for (long i = 0; i < count; i++) {
        owners.add(NativeMemory.cString(NativeMemory.getLong(array + i * Long.BYTES)));
      }
      return List.copyOf(owners);
    } finally {
      LibRbd.rbd_lock_get_owners_cleanup(array, count);
    }
  }

  /**
   * Takes the lock away from a client ({@code rbd_lock_break}), which is blocklisted.
   *
   * @param owner as {@link #owners()} gives it
   * @throws CephException.NotFound if nobody holds the lock
   * @throws CephException.Busy if somebody else than {@code owner} holds it
   */
  public void breakLock(String owner) {
    image.call(
        "rbd_lock_break", (p, arena) -> LibRbd.rbd_lock_break(p, EXCLUSIVE, arena.cString(owner)));
  }
}
