package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.error.ReturnCode;
import io.cephcsi.bindings.rados.ClassCall;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.RbdPool;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/**
 * Moves an image to the trash by the same calls of the object class {@code rbd} as {@code
 * rbd_trash_move}, without opening the image.
 *
 * <pre>
 *   rbd_header.ID    get_features       u64 2^64-2 · u8 1  →  u64 features ...
 *                    image_group_get    -                  →  v (i64 pool · string group)
 *   rbd_mirroring    mirror_image_get   string id          →  ENOENT: not mirrored
 *   rbd_trash        trash_add          string id · v2,1 (u8 source · string name · time deleted ·
 *                                       time deferred until · u8 state)
 *                    the same write also leaves a {@link TrashMark}
 *   rbd_directory    dir_remove_image   string name · string id  →  ESTALE: another one's name
 *   rbd_id.NAME      compared with the id, and removed
 * </pre>
 *
 * <p>Five round trips. After a crash in between a repeated call completes the move: the object that
 * leads from the name to the id is removed last. A name that another image has by now stays.
 */
public final class TrashMove {
  private static final long OTHERS_WORK =
      ImageFeature.JOURNALING.mask()
          | ImageFeature.MIGRATING.mask()
          | ImageFeature.NON_PRIMARY.mask()
          | ImageFeature.DIRTY_CACHE.mask();

  private final IoContext io;
  private final String name;
  private final String id;
  private final Duration deferment;

  private TrashMove(IoContext io, String name, String id, Duration deferment) {
    this.io = io;
    this.name = name;
    this.id = id;
    this.deferment = deferment;
  }

  /** As {@link #move(RbdPool, String, String, Duration)}, without deferment. */
  public static void move(RbdPool pool, String name, String id) {
    move(pool, name, id, Duration.ZERO);
  }

  /**
   * Moves an image that nobody has open to the trash, with a {@link TrashMark}; one that is neither
   * mirrored nor journaled, grouped or migrated without opening it, which takes a tenth of what
   * {@code rbd_trash_move} costs, and leaves the name to another image that has it by now. librbd,
   * which moves what is left, only knows names: it is asked only if the name leads to the image.
   *
   * @param id the image's id
   * @param deferment how long it is removed by force only
   * @throws CephException.NotFound if the image has no header
   * @throws CephException.OwnerSilent as of {@link RbdPool#moveToTrash(String, String, Duration)}
   * @throws CephException.Busy as of {@link RbdPool#moveToTrash}, and if librbd is needed and the
   *     name does not lead to the image any more
   */
  public static void move(RbdPool pool, String name, String id, Duration deferment) {
    IoContext io = pool.io();
    if (new TrashMove(io, name, id, deferment).moveIfPlain()) {
      return;
    }
    if (ImageId.find(pool, name).equals(Optional.of(id))) {
      pool.requireAnswers(id); // the mark of a move that is under way stays
      Instant announced = TrashMark.announce(io, id);
      try {
        pool.moveToTrash(name, id, () -> moveAnnounced(pool, name, id, deferment, announced));
      } catch (CephException.OwnerSilent e) {
        if (!e.isUnderWay()) { // nor was it begun
          TrashMark.withdraw(io, id, announced);
        }
        throw e;
      }
    } else if (pool.trashEntry(id).isEmpty()) {
      throw ReturnCode.exception(
          -Errno.EBUSY.number(),
          "rbd_trash_move",
          pool.describe(name),
          "the name does not lead to image " + id + " any more");
    }
  }

  /** Also when nobody waits for it any more: the mark is of the time at which it is moved. */
  private static void moveAnnounced(
      RbdPool pool, String name, String id, Duration deferment, Instant announced) {
    try {
      pool.moveToTrash(name, deferment);
    } catch (CephException.OutcomeUnknown e) {
      throw e; // it may have been moved all the same
    } catch (CephException e) {
      TrashMark.withdraw(pool.io(), id, announced);
      throw e;
    }
    TrashMark.confirm(pool.io(), id);
  }

  /**
   * Moves an image that nobody has open, if it is a plain one.
   *
   * @return false, and nothing was done, if librbd must do it: the image is mirrored, journaled, in
   *     a group, or being migrated
   * @throws CephException.NotFound if the image has no header
   */
  static boolean moveIfPlain(IoContext io, String name, String id) {
    return new TrashMove(io, name, id, Duration.ZERO).moveIfPlain();
  }

  private boolean moveIfPlain() {
    if (!isPlain() || isMirrored()) {
      return false;
    }
    carryOut();
    return true;
  }

  private boolean isPlain() {
    try (ReadOperation read = new ReadOperation()) {
      var features = RbdClass.features().addTo(read);
      var group = RbdClass.call("image_group_get").addTo(read);
      io.operate(ImageHeader.object(id), read);
      return (ClassCall.output(features.get()).getLong(0) & OTHERS_WORK) == 0
          && ClassCall.output(group.get()).getInt(14) == 0; // the length of the group's id
    }
  }

  private boolean isMirrored() {
    try (ReadOperation read = new ReadOperation()) {
      var image = RbdClass.call("mirror_image_get").string(id).addTo(read);
      io.operate("rbd_mirroring", read);
      return image.get().length > 0;
    } catch (CephException.NotFound e) {
      return false;
    }
  }

  private void carryOut() {
    Instant now = Instant.now();
    ClassCall entry = // by a user; normal
        ClassCall.content().u8(0).string(name).time(now).time(now.plus(deferment)).u8(0);
    try (WriteOperation write = new WriteOperation()) {
      RbdClass.call("trash_add").string(id).structure(2, 1, entry).addTo(write);
      TrashMark.addTo(write, id, now, now);
      io.operate(TrashMark.TRASH, write);
    } catch (CephException.AlreadyExists e) {
      settle(); // the move was begun before, here or by librbd
    }
    NameRemoval.remove(io, name, id);
  }

  /** Ends the state in which librbd leaves an entry while it moves an image. */
  private void settle() {
    int normal = 0;
    int moving = 1;
    try (WriteOperation write = new WriteOperation()) {
      RbdClass.call("trash_state_set").string(id).u8(normal).u8(moving).addTo(write);
      io.operate(TrashMark.TRASH, write);
    }
  }
}
