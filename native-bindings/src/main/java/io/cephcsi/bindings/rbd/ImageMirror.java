package io.cephcsi.bindings.rbd;

import static io.cephcsi.bindings.error.ReturnCode.check;

import io.cephcsi.bindings.internal.GrowingBuffer;
import io.cephcsi.bindings.internal.LibRbd;
import io.cephcsi.bindings.internal.NativeHandle;
import io.cephcsi.bindings.internal.NativeMemory;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The mirroring of an open image to other sites. A view: usable until the image is closed. Safe for
 * several threads; all calls block on the cluster. {@link RbdImage#mirroring()} says whether the
 * image is mirrored.
 *
 * <p>Changes need an image that is open for writing, and fail with EINVAL where the state of the
 * image does not allow them.
 */
public final class ImageMirror {
  private static final int ID_BYTES = 64;

  private final RbdImage image;

  ImageMirror(RbdImage image) {
    this.image = image;
  }

  /** A call for which the owner of the image's lock may have to give it away. */
  private void change(String operation, NativeHandle.Call call) {
    image.change(operation, image.path(), () -> image.call(operation, call));
  }

  /**
   * Begins to mirror the image, as the primary ({@code rbd_mirror_image_enable2}). Done already, if
   * it is mirrored in this mode.
   *
   * @throws io.cephcsi.bindings.error.CephException with EINVAL if the pool is not mirrored image
   *     by image, the image is mirrored in the other mode, its parent is not mirrored, or its
   *     mirroring is being ended
   */
  public void enable(MirrorMode mode) {
    change(
        "rbd_mirror_image_enable2",
        (pointer, arena) -> LibRbd.rbd_mirror_image_enable2(pointer, mode.number()));
  }

  /**
   * Ends the mirroring of the image, which stays ({@code rbd_mirror_image_disable}). What a call
   * that was interrupted left is done, too. The copies of a primary are removed by the daemons of
   * their sites.
   *
   * @param force also of an image that is no primary, which becomes an ordinary image
   * @throws io.cephcsi.bindings.error.CephException with EINVAL if the image is no primary, without
   *     force, or its pool is not mirrored
   * @throws io.cephcsi.bindings.error.CephException.Busy if clones of the image are mirrored
   */
  public void disable(boolean force) {
    change(
        "rbd_mirror_image_disable",
        (pointer, arena) -> LibRbd.rbd_mirror_image_disable(pointer, bool(force)));
  }

  /**
   * Makes the image the primary ({@code rbd_mirror_image_promote}), by the exclusive lock. What a
   * site began to copy and did not end is undone, which takes as long as there is to copy.
   *
   * @param force also while another site has the primary; then it waits without end for a client
   *     that has the lock and does not answer
   * @throws io.cephcsi.bindings.error.CephException.Busy if another site has the primary, or what
   *     it wrote before it was demoted is not here yet; without force
   * @throws io.cephcsi.bindings.error.CephException with EINVAL if it is the primary already
   */
  public void promote(boolean force) {
    NativeHandle.Call call =
        (pointer, arena) -> LibRbd.rbd_mirror_image_promote(pointer, bool(force));
    if (force) {
      image.call("rbd_mirror_image_promote", call); // what it undoes takes time, without progress
    } else {
      change("rbd_mirror_image_promote", call);
    }
  }

  /**
   * Makes the primary a copy that another site may be promoted for ({@code
   * rbd_mirror_image_demote}). librbd does so while clients have the image open: those by librbd
   * cannot write any more, a device of the kernel can.
   *
   * @throws io.cephcsi.bindings.error.CephException with EINVAL if it is no primary
   */
  public void demote() {
    change("rbd_mirror_image_demote", (pointer, arena) -> LibRbd.rbd_mirror_image_demote(pointer));
  }

  /**
   * Has the daemon of this site delete the image and copy it anew ({@code
   * rbd_mirror_image_resync}); it does so when it runs. Needs no lock: it waits for no client.
   *
   * @throws io.cephcsi.bindings.error.CephException with EINVAL if the image is the primary
   */
  public void resync() {
    image.call(
        "rbd_mirror_image_resync", (pointer, arena) -> LibRbd.rbd_mirror_image_resync(pointer));
  }

  /**
   * Takes a snapshot for mirroring now ({@code rbd_mirror_image_create_snapshot2}), of a primary
   * that is mirrored by snapshots.
   *
   * @return its id
   */
  public long createSnapshot(SnapshotCreation... flags) {
    AtomicLong taken = new AtomicLong();
    change(
        "rbd_mirror_image_create_snapshot2",
        (pointer, arena) -> {
          long id = arena.cell(0);
          int code =
              LibRbd.rbd_mirror_image_create_snapshot2(pointer, SnapshotCreation.mask(flags), id);
          taken.set(arena.getLong(id));
          return code;
        });
    return taken.get();
  }

  /**
   * The mode of a mirrored image ({@code rbd_mirror_image_get_mode}). Of one that is not mirrored
   * the answer means nothing: Ceph 16 says JOURNAL.
   */
  public MirrorMode mode() {
    return image.use(
        (pointer, arena) -> {
          long mode = arena.cell(0);
          check(
              LibRbd.rbd_mirror_image_get_mode(pointer, mode),
              "rbd_mirror_image_get_mode",
              image.path());
          return MirrorMode.of(arena.getInt(mode));
        });
  }

  /**
   * The state on all sites ({@code rbd_mirror_image_get_global_status}); of this one only, and not
   * up, if the image is not mirrored.
   */
  public MirrorStatus status() {
    return image.use(
        (pointer, arena) -> {
          long status = arena.allocate(MirrorStatus.BYTES);
          check(
              LibRbd.rbd_mirror_image_get_global_status(pointer, status, MirrorStatus.BYTES),
              "rbd_mirror_image_get_global_status",
              image.path());
          try {
            return MirrorStatus.decode(status);
          } finally {
            LibRbd.rbd_mirror_image_global_status_cleanup(status);
          }
        });
  }

  /**
   * Which daemon of this site has the image ({@code rbd_mirror_image_get_instance_id}): the id of
   * its client.
   *
   * @throws io.cephcsi.bindings.error.CephException.NotFound if none has it
   */
  public String instanceId() {
    return image.use(
        (pointer, arena) ->
            GrowingBuffer.read(
                1,
                ID_BYTES,
                "rbd_mirror_image_get_instance_id",
                image.path(),
                (buffer, size, cell) ->
                    LibRbd.rbd_mirror_image_get_instance_id(pointer, buffer, cell),
                (buffer, code, length) -> NativeMemory.cString(buffer)));
  }

  private static byte bool(boolean value) {
    return (byte) (value ? 1 : 0);
  }
}
