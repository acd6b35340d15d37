package io.cephcsi.bindings.rbd;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.ReturnCode;
import io.cephcsi.bindings.internal.GrowingBuffer;
import io.cephcsi.bindings.internal.LibRbd;
import io.cephcsi.bindings.internal.NativeHandle;
import io.cephcsi.bindings.internal.NativeMemory;
import io.cephcsi.bindings.internal.ProgressCallback;
import io.cephcsi.bindings.profile.LibrbdCall;
import io.cephcsi.bindings.rados.IoContext;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The images, trash and groups of a pool and namespace.
 *
 * <p>A view: it does not own the {@link IoContext} and needs no closing; it works until that is
 * closed. Safe for several threads.
 */
public final class RbdPool {
  private final IoContext io;

  /** Views a pool. */
  public RbdPool(IoContext io) {
    this.io = io;
  }

  /** The pool and namespace underneath. */
  public IoContext io() {
    return io;
  }

  /** Pool, namespace and a name in it, for messages. */
  public String describe(String name) {
    return io.namespace().isEmpty()
        ? io.pool() + "/" + name
        : io.pool() + "/" + io.namespace() + "/" + name;
  }

  /**
   * Writes the event of a call if there is one; see {@link ImageData#recorded(LibrbdCall, int,
   * String, long)}.
   *
   * @return the code
   */
  int recorded(@Nullable LibrbdCall event, int code, String operation, String name) {
    if (event != null) {
      event.ended(operation, io.pool(), io.namespace(), name, 0, code);
    }
    return code;
  }

  private int call(String operation, String name, NativeHandle.Call call) {
    return io.call(
        operation,
        describe(name),
        (p, arena) -> recorded(LibrbdCall.begun(), call.on(p, arena), operation, name));
  }

  private void callTracked(
      String operation, String name, Progress progress, ProgressCall.Tracked call) {
    ProgressCall.run(
        io,
        operation,
        describe(name),
        progress,
        (p, arena, id) -> recorded(LibrbdCall.begun(), call.on(p, arena, id), operation, name));
  }

  /**
   * Creates an image ({@code rbd_create4}).
   *
   * @param sizeBytes its size; nothing is allocated for it
   * @throws CephException.AlreadyExists if the name is taken
   */
  public void create(String name, long sizeBytes, ImageOptions options) {
    try (NativeImageOptions opts = NativeImageOptions.of(options)) {
      call(
          "rbd_create4",
          name,
          (p, arena) -> LibRbd.rbd_create4(p, arena.cString(name), sizeBytes, opts.pointer()));
    }
  }

  /**
   * Clones a snapshot of an image of this pool ({@code rbd_clone3}).
   *
   * @param parent the image's name
   * @param snapshot the snapshot's name; it must be protected for a clone of format 1
   * @param childPool where the clone is made; this pool, or another of the same connection
   * @throws CephException.NotFound if the image or the snapshot does not exist
   * @throws CephException.AlreadyExists if the child's name is taken
   */
  public void cloneImage(
      String parent, String snapshot, RbdPool childPool, String child, ImageOptions options) {
    try (NativeImageOptions opts = NativeImageOptions.of(options)) {
      childPool.io.use(
          (to, none) ->
              io.call(
                  "rbd_clone3",
                  describe(parent) + "@" + snapshot + " to " + childPool.describe(child),
                  (from, arena) ->
                      recorded(
                          LibrbdCall.begun(),
                          LibRbd.rbd_clone3(
                              from,
                              arena.cString(parent),
                              arena.cString(snapshot),
                              to,
                              arena.cString(child),
                              opts.pointer()),
                          "rbd_clone3",
                          parent)));
    }
  }

  /**
   * Opens an image for reading and writing ({@code rbd_open}); registers a watcher.
   *
   * @throws CephException.NotFound if there is none of this name; one in the trash counts as none
   */
  public RbdImage open(String name) {
    return RbdImage.open(this, RbdImage.Opening.BY_NAME, name, "");
  }

  /** As {@link #open(String)}, at a snapshot: what is read is the snapshot, writes fail. */
  public RbdImage open(String name, String snapshot) {
    return RbdImage.open(this, RbdImage.Opening.BY_NAME, name, snapshot);
  }

  /**
   * Opens an image for reading ({@code rbd_open_read_only}): no watcher, so that others do not see
   * it in use, and changes of its size or snapshots by others are not noticed. Writes fail with
   * EROFS.
   */
  public RbdImage openReadOnly(String name) {
    return RbdImage.open(this, RbdImage.Opening.BY_NAME_READ_ONLY, name, "");
  }

  /** As {@link #openReadOnly(String)}, at a snapshot. */
  public RbdImage openReadOnly(String name, String snapshot) {
    return RbdImage.open(this, RbdImage.Opening.BY_NAME_READ_ONLY, name, snapshot);
  }

  /**
   * As {@link #open(String)}, by the image's id: also one in the trash ({@code rbd_open_by_id}).
   */
  public RbdImage openById(String id) {
    return RbdImage.open(this, RbdImage.Opening.BY_ID, id, "");
  }

  /** As {@link #openById(String)}, at a snapshot. */
  public RbdImage openById(String id, String snapshot) {
    return RbdImage.open(this, RbdImage.Opening.BY_ID, id, snapshot);
  }

  /** As {@link #openReadOnly(String)}, by the image's id ({@code rbd_open_by_id_read_only}). */
  public RbdImage openByIdReadOnly(String id) {
    return RbdImage.open(this, RbdImage.Opening.BY_ID_READ_ONLY, id, "");
  }

  /** As {@link #openByIdReadOnly(String)}, at a snapshot. */
  public RbdImage openByIdReadOnly(String id, String snapshot) {
    return RbdImage.open(this, RbdImage.Opening.BY_ID_READ_ONLY, id, snapshot);
  }

  /**
   * All images, without those in the trash ({@code rbd_list2}). A damaged entry of the trash, which
   * whoever may write to the pool can make, has it end the OSD of Ceph 16: {@link
   * io.cephcsi.bindings.cls.ImageDirectory} lists them without that.
   */
  public List<ImageName> list() {
    return StructArray.read(
        io,
        "rbd_list2",
        io.toString(),
        ImageName.BYTES,
        LibRbd::rbd_list2,
        LibRbd::rbd_image_spec_list_cleanup,
        ImageName::decode);
  }

  /**
   * Removes an image and its data ({@code rbd_remove_with_progress}). Slow: one round trip for each
   * object.
   *
   * @param progress cancelling leaves an image that is partly removed: it has no name any more, and
   *     is in the trash with {@link TrashSource#REMOVING} until it is removed again, here by the
   *     same name or by {@link #removeFromTrash}
   * @throws CephException.Busy if it is in use
   * @throws CephException with ENOTEMPTY if it has snapshots
   */
  public void remove(String name, Progress progress) {
    callTracked(
        "rbd_remove_with_progress",
        name,
        progress,
        (p, arena, id) ->
            LibRbd.rbd_remove_with_progress(p, arena.cString(name), ProgressCallback.INSTANCE, id));
  }

  /** Renames an image ({@code rbd_rename}); it may be in use. */
  public void rename(String name, String newName) {
    call(
        "rbd_rename",
        name,
        (p, arena) -> LibRbd.rbd_rename(p, arena.cString(name), arena.cString(newName)));
  }

  /**
   * Moves an image to the trash ({@code rbd_trash_move}). Waits without end for a client that has
   * the lock and does not answer; {@link #moveToTrash(String, String, Duration)} does not.
   *
   * <p>librbd 16 also moves an image that others have open, who can go on using it; who does not
   * want that asks for {@link RbdImage#watchers()} first.
   *
   * @param delay for how long {@link #removeFromTrash} refuses it unless forced; whole seconds
   * @throws CephException.Busy if another client keeps its lock by {@link ExclusiveLock#acquire}
   */
  public void moveToTrash(String name, Duration delay) {
    call(
        "rbd_trash_move",
        name,
        (p, arena) -> LibRbd.rbd_trash_move(p, arena.cString(name), delay.toSeconds()));
  }

  /**
   * As {@link #moveToTrash(String, Duration)}, but given up when the client that has the lock does
   * not answer.
   *
   * @param id the id of the image that has the name
   * @throws CephException.OwnerSilent when it is given up: it may be moved later
   */
  public void moveToTrash(String name, String id, Duration delay) {
    moveToTrash(name, id, () -> moveToTrash(name, delay));
  }

  /**
   * As {@link #moveToTrash(String, String, Duration)}, with what belongs to the move.
   *
   * @param move calls {@link #moveToTrash(String, Duration)}; it runs on another thread, and to its
   *     end when it is given up
   */
  public void moveToTrash(String name, String id, Runnable move) {
    OwnerCalls.ofImage(this, id).run("rbd_trash_move", describe(name), move);
  }

  /**
   * Requires that this process gave up no call on an image that may still be carried out, such as
   * its move to the trash. One that has told its progress lately does not count. No round trip if
   * there is none.
   *
   * @param id the image's id
   * @throws CephException.OwnerSilent if there is one
   */
  public void requireAnswers(String id) {
    OwnerCalls.ofImage(this, id).requireAnswers("rbd_trash_move", describe(id));
  }

  /**
   * An image in the trash ({@code rbd_trash_get}).
   *
   * @param id the image's id
   */
  public Optional<TrashEntry> trashEntry(String id) {
    try {
      return io.use(
          (pointer, arena) -> {
            long info = arena.allocate(TrashEntry.BYTES);
            ReturnCode.check(
                recorded(
                    LibrbdCall.begun(),
                    LibRbd.rbd_trash_get(pointer, arena.cString(id), info),
                    "rbd_trash_get",
                    id),
                "rbd_trash_get",
                describe(id));
            try {
              return Optional.of(TrashEntry.decode(info));
            } finally {
              LibRbd.rbd_trash_get_cleanup(info);
            }
          });
    } catch (CephException.NotFound e) {
      return Optional.empty();
    }
  }

  /**
   * Removes an image in the trash for good ({@code rbd_trash_remove_with_progress}). Slow, like
   * {@link #remove}.
   *
   * @param force also before its deferment is over
   * @throws CephException.Denied with EPERM if its deferment is not over
   * @throws CephException.NotFound if it is not in the trash
   * @throws CephException.Busy if it is in use
   * @throws CephException with ENOTEMPTY if clones still need its snapshots
   */
  public void removeFromTrash(String id, boolean force, Progress progress) {
    String operation = "rbd_trash_remove_with_progress";
    OwnerCalls.ofImage(this, id)
        .run(
            operation,
            describe(id),
            progress,
            heard ->
                callTracked(
                    operation,
                    id,
                    heard,
                    (p, arena, listener) ->
                        LibRbd.rbd_trash_remove_with_progress(
                            p,
                            arena.cString(id),
                            (byte) (force ? 1 : 0),
                            ProgressCallback.INSTANCE,
                            listener)));
  }

  /**
   * Takes an image out of the trash ({@code rbd_trash_restore}).
   *
   * @param name the name to give it; empty for the one that it had
   * @throws CephException.AlreadyExists if the name is taken
   */
  public void restoreFromTrash(String id, String name) {
    call(
        "rbd_trash_restore",
        id,
        (p, arena) -> LibRbd.rbd_trash_restore(p, arena.cString(id), arena.cString(name)));
  }

  /** Which images of the pool are mirrored ({@code rbd_mirror_mode_get}). */
  public PoolMirrorMode mirrorMode() {
    return io.use(
        (pointer, arena) -> {
          long mode = arena.cell(0);
          ReturnCode.check(
              LibRbd.rbd_mirror_mode_get(pointer, mode), "rbd_mirror_mode_get", io.toString());
          return PoolMirrorMode.of(arena.getInt(mode));
        });
  }

  /** A group of this pool; it need not exist. */
  public RbdGroup group(String name) {
    return new RbdGroup(this, name);
  }

  /** Creates a group ({@code rbd_group_create}). */
  public void createGroup(String name) {
    call("rbd_group_create", name, (p, arena) -> LibRbd.rbd_group_create(p, arena.cString(name)));
  }

  /** Removes a group with its snapshots; its images stay ({@code rbd_group_remove}). */
  public void removeGroup(String name) {
    call("rbd_group_remove", name, (p, arena) -> LibRbd.rbd_group_remove(p, arena.cString(name)));
  }

  /** Renames a group ({@code rbd_group_rename}). */
  public void renameGroup(String name, String newName) {
    call(
        "rbd_group_rename",
        name,
        (p, arena) -> LibRbd.rbd_group_rename(p, arena.cString(name), arena.cString(newName)));
  }

  /** The names of all groups ({@code rbd_group_list}). */
  public List<String> listGroups() {
    return io.use(
        (pointer, arena) ->
            GrowingBuffer.read(
                1,
                4096,
                "rbd_group_list",
                io.toString(),
                (buffer, capacity, cell) -> LibRbd.rbd_group_list(pointer, buffer, cell),
                // The cell keeps the capacity: what was written, only the return code tells.
                (buffer, bytes, capacity) -> NativeMemory.cStrings(buffer, bytes)));
  }
}
