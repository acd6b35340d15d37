package io.cephcsi.bindings.rbd;

import static io.cephcsi.bindings.error.ReturnCode.check;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.internal.GrowingBuffer;
import io.cephcsi.bindings.internal.LibRbd;
import io.cephcsi.bindings.internal.NativeArena;
import io.cephcsi.bindings.internal.NativeHandle;
import io.cephcsi.bindings.internal.NativeMemory;
import io.cephcsi.bindings.internal.ProgressCallback;
import io.cephcsi.bindings.profile.LibrbdCall;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The snapshots of an open image. A view: usable until the image is closed. Names are those of user
 * snapshots ({@link SnapshotNamespace#USER}); others are reached by id. Safe for several threads,
 * except {@link #setActive(long)}, which changes what all users of the open image see.
 */
public final class ImageSnapshots {
  private static final int INFO_BYTES = 24;

  private final RbdImage image;

  ImageSnapshots(RbdImage image) {
    this.image = image;
  }

  /** All snapshots of all kinds, oldest first ({@code rbd_snap_list}). */
  public List<ImageSnapshot> list() {
    return image.use(
        (pointer, arena) ->
            GrowingBuffer.read(
                INFO_BYTES,
                32,
                "rbd_snap_list",
                image.path(),
                (array, capacity, cell) -> LibRbd.rbd_snap_list(pointer, array, cell),
                (array, count, ignored) -> decode(pointer, array, count)));
  }

  private List<ImageSnapshot> decode(long pointer, long array, int count) {
    try {
      List<ImageSnapshot> snapshots = new ArrayList<>(count);
      for (int i = 0; i < count; i++) {
        long info = array + (long) i * INFO_BYTES;
        long id = NativeMemory.getLong(info);
        namespace(pointer, id)
            .ifPresent(
                namespace ->
                    snapshots.add(
                        new ImageSnapshot(
                            id,
                            NativeMemory.cString(NativeMemory.getLong(info + 16)),
                            NativeMemory.getLong(info + 8),
                            namespace)));
      }
      return List.copyOf(snapshots);
    } finally {
      if (count > 0) {
        LibRbd.rbd_snap_list_end(array);
      }
    }
  }

  /** Empty when the snapshot was removed meanwhile. */
  private Optional<SnapshotNamespace> namespace(long pointer, long id) {
    try (NativeArena arena = NativeArena.open()) {
      long type = arena.cell(0);
      int code = LibRbd.rbd_snap_get_namespace_type(pointer, id, type);
      if (code == -Errno.ENOENT.number()) {
        return Optional.empty();
      }
      check(code, "rbd_snap_get_namespace_type", describe(id));
      return Optional.of(SnapshotNamespace.of(arena.getInt(type)));
    }
  }

  private String describe(Object snapshot) {
    return image.path() + "@" + snapshot;
  }

  private int call(String operation, Object snapshot, NativeHandle.Call call) {
    return image.call(
        operation,
        describe(snapshot),
        (p, arena) -> image.recorded(LibrbdCall.begun(), call.on(p, arena), operation, 0));
  }

  private void callTracked(
      String operation, String name, Progress progress, ProgressCall.Tracked call) {
    image.callTracked(operation, describe(name), progress, call);
  }

  /** Whether there is a snapshot of this name ({@code rbd_snap_exists}). */
  public boolean exists(String name) {
    return flag("rbd_snap_exists", name, LibRbd::rbd_snap_exists);
  }

  private boolean flag(String operation, String name, CellCall call) {
    return (int) cell(operation, name, call) != 0;
  }

  /** What a function puts into a cell about a snapshot of a name. */
  private long cell(String operation, String name, CellCall call) {
    return image.use(
        (pointer, arena) -> {
          long cell = arena.cell(0);
          check(call.ask(pointer, arena.cString(name), cell), operation, describe(name));
          return arena.getLong(cell);
        });
  }

  /**
   * The id of a snapshot ({@code rbd_snap_get_id}).
   *
   * @throws CephException.NotFound if there is none of this name
   */
  public long id(String name) {
    return cell("rbd_snap_get_id", name, LibRbd::rbd_snap_get_id);
  }

  /**
   * Takes a snapshot ({@code rbd_snap_create2}). With a monitor's default settings it takes up to a
   * second.
   *
   * @throws CephException.AlreadyExists if the name is taken
   */
  public void create(String name, SnapshotCreation... flags) {
    image.whileOwned(
        "rbd_snap_create2",
        describe(name),
        () ->
            callTracked(
                "rbd_snap_create2",
                name,
                Progress.NONE,
                (p, arena, id) ->
                    LibRbd.rbd_snap_create2(
                        p,
                        arena.cString(name),
                        SnapshotCreation.mask(flags),
                        ProgressCallback.INSTANCE,
                        id)));
  }

  /**
   * Removes a snapshot ({@code rbd_snap_remove2}). One that clones of format 2 need moves to {@link
   * SnapshotNamespace#TRASH} instead, and vanishes with the last of them.
   *
   * @throws CephException.NotFound if there is none of this name
   * @throws CephException.Busy if it is protected
   */
  public void remove(String name, SnapshotRemoval... flags) {
    image.change(
        "rbd_snap_remove2",
        describe(name),
        () ->
            callTracked(
                "rbd_snap_remove2",
                name,
                Progress.NONE,
                (p, arena, id) ->
                    LibRbd.rbd_snap_remove2(
                        p,
                        arena.cString(name),
                        SnapshotRemoval.mask(flags),
                        ProgressCallback.INSTANCE,
                        id)));
  }

  /**
   * Removes a snapshot of any kind ({@code rbd_snap_remove_by_id}). One of a user that clones of
   * format 2 need moves to {@link SnapshotNamespace#TRASH} instead.
   *
   * @throws CephException.NotFound if there is none of this id
   * @throws CephException.Busy if it is protected, or in the trash namespace and clones need it
   */
  public void removeById(long id) {
    String operation = "rbd_snap_remove_by_id";
    image.change(
        operation,
        describe(id),
        () -> call(operation, id, (p, arena) -> LibRbd.rbd_snap_remove_by_id(p, id)));
  }

  /** Renames a snapshot ({@code rbd_snap_rename}). */
  public void rename(String name, String newName) {
    call(
        "rbd_snap_rename",
        name,
        (p, arena) -> LibRbd.rbd_snap_rename(p, arena.cString(name), arena.cString(newName)));
  }

  /**
   * Forbids removal ({@code rbd_snap_protect}).
   *
   * @throws CephException.Busy if it is protected already
   */
  public void protect(String name) {
    call("rbd_snap_protect", name, (p, arena) -> LibRbd.rbd_snap_protect(p, arena.cString(name)));
  }

  /**
   * Allows removal again ({@code rbd_snap_unprotect}).
   *
   * @throws CephException.Busy if clones of format 1 need it
   * @throws CephException with EINVAL if it is not protected
   */
  public void unprotect(String name) {
    call(
        "rbd_snap_unprotect",
        name,
        (p, arena) -> LibRbd.rbd_snap_unprotect(p, arena.cString(name)));
  }

  /** Whether removal is forbidden ({@code rbd_snap_is_protected}). */
  public boolean isProtected(String name) {
    return flag("rbd_snap_is_protected", name, LibRbd::rbd_snap_is_protected);
  }

  /**
   * Makes the image what it was at a snapshot ({@code rbd_snap_rollback_with_progress}); slow.
   *
   * @param progress cancelling leaves an image of which one part is rolled back, the other not
   */
  public void rollback(String name, Progress progress) {
    callTracked(
        "rbd_snap_rollback_with_progress",
        name,
        progress,
        (p, arena, id) ->
            LibRbd.rbd_snap_rollback_with_progress(
                p, arena.cString(name), ProgressCallback.INSTANCE, id));
  }

  /** When a snapshot was taken ({@code rbd_snap_get_timestamp}). */
  public Instant timestamp(long id) {
    return image.use(
        (pointer, arena) -> {
          long time = arena.allocate(Timespec.BYTES);
          check(
              LibRbd.rbd_snap_get_timestamp(pointer, id, time),
              "rbd_snap_get_timestamp",
              describe(id));
          return Timespec.decode(time);
        });
  }

  /**
   * The name that a snapshot had before it moved to the trash ({@code
   * rbd_snap_get_trash_namespace}).
   *
   * @throws CephException with EINVAL if it is not in the trash
   */
  public String trashOriginalName(long id) {
    return image.use(
        (pointer, arena) ->
            GrowingBuffer.read(
                1,
                128,
                "rbd_snap_get_trash_namespace",
                describe(id),
                (to, size, cell) -> LibRbd.rbd_snap_get_trash_namespace(pointer, id, to, size),
                (name, code, count) -> NativeMemory.cString(name)));
  }

  /**
   * The group snapshot that a snapshot is part of ({@code rbd_snap_get_group_namespace}).
   *
   * @throws CephException with EINVAL if it is part of none
   */
  public GroupSnapshotRef groupSnapshot(long id) {
    return image.use(
        (pointer, arena) -> {
          long namespace = arena.allocate(GroupSnapshotRef.BYTES);
          check(
              LibRbd.rbd_snap_get_group_namespace(pointer, id, namespace, GroupSnapshotRef.BYTES),
              "rbd_snap_get_group_namespace",
              describe(id));
          try {
            return GroupSnapshotRef.decode(namespace);
          } finally {
            LibRbd.rbd_snap_group_namespace_cleanup(namespace, GroupSnapshotRef.BYTES);
          }
        });
  }

  /**
   * Makes reads, size, diffs and children of the open image those of a snapshot ({@code
   * rbd_snap_set}).
   */
  public void setActive(String name) {
    call("rbd_snap_set", name, (p, arena) -> LibRbd.rbd_snap_set(p, arena.cString(name)));
  }

  /** As {@link #setActive(String)}, by id, for snapshots of any kind. */
  public void setActive(long id) {
    call("rbd_snap_set_by_id", id, (p, arena) -> LibRbd.rbd_snap_set_by_id(p, id));
  }

  /** Undoes {@link #setActive(String)}. */
  public void setActiveHead() {
    call("rbd_snap_set", "", (p, arena) -> LibRbd.rbd_snap_set(p, 0));
  }

  /** A function that puts an {@code int} or {@code uint64_t} into a cell. */
  private interface CellCall {
    int ask(long image, long name, long cell);
  }
}
