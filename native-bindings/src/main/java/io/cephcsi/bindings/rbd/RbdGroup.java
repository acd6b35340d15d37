package io.cephcsi.bindings.rbd;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.internal.LibRbd;
import io.cephcsi.bindings.internal.NativeArena;
import io.cephcsi.bindings.internal.NativeHandle;
import io.cephcsi.bindings.profile.LibrbdCall;
import java.util.List;

/**
 * A group of images, whose snapshots are taken at one point in time. A view of an {@link RbdPool}:
 * it needs no closing, and the group need not exist. Safe for several threads.
 *
 * <p>Without such a group, the lists are empty and changes throw {@link CephException.NotFound}.
 */
public final class RbdGroup {
  private final RbdPool pool;
  private final String name;

  RbdGroup(RbdPool pool, String name) {
    this.pool = pool;
    this.name = name;
  }

  /** The group's name. */
  public String name() {
    return name;
  }

  /** The group's pool. */
  public RbdPool pool() {
    return pool;
  }

  private String describe(String part) {
    return pool.describe(name) + " " + part;
  }

  private void call(String operation, String part, NativeHandle.Call call) {
    pool.io()
        .call(
            operation,
            describe(part),
            (p, arena) -> pool.recorded(LibrbdCall.begun(), call.on(p, arena), operation, name));
  }

  /** As {@link #call}, of what the owners of the images' locks may have to give them away for. */
  private void change(String operation, String snapshot, NativeHandle.Call call) {
    OwnerCalls.ofGroup(pool, name)
        .run(operation, describe(snapshot), () -> call(operation, snapshot, call));
  }

  /**
   * Adds an image ({@code rbd_group_image_add}).
   *
   * @param imagePool the image's pool
   * @throws CephException.AlreadyExists if it is in the group; in another group, EEXIST too
   */
  public void addImage(RbdPool imagePool, String image) {
    callOnImage("rbd_group_image_add", imagePool, image, LibRbd::rbd_group_image_add);
  }

  /** Removes an image from the group ({@code rbd_group_image_remove}); the image stays. */
  public void removeImage(RbdPool imagePool, String image) {
    callOnImage("rbd_group_image_remove", imagePool, image, LibRbd::rbd_group_image_remove);
  }

  /** As {@link #removeImage}, by the image's id: also of an image in the trash. */
  public void removeImageById(RbdPool imagePool, String imageId) {
    callOnImage(
        "rbd_group_image_remove_by_id", imagePool, imageId, LibRbd::rbd_group_image_remove_by_id);
  }

  private void callOnImage(String operation, RbdPool imagePool, String image, ImageCall call) {
    call(
        operation,
        imagePool.describe(image),
        (p, arena) ->
            imagePool
                .io()
                .use(
                    (imageIo, none) ->
                        call.on(p, arena.cString(name), imageIo, arena.cString(image))));
  }

  /** The images of the group ({@code rbd_group_image_list}). */
  public List<GroupImage> images() {
    try (NativeArena arena = NativeArena.open()) {
      long group = arena.cString(name);
      return StructArray.read(
          pool.io(),
          "rbd_group_image_list",
          pool.describe(name),
          GroupImage.BYTES,
          (p, array, cell) -> LibRbd.rbd_group_image_list(p, group, array, GroupImage.BYTES, cell),
          (array, count) -> LibRbd.rbd_group_image_list_cleanup(array, GroupImage.BYTES, count),
          GroupImage::decode);
    }
  }

  /**
   * Takes a snapshot of all images at one point in time ({@code rbd_group_snap_create2}); writes to
   * them wait meanwhile.
   *
   * @throws CephException.AlreadyExists if the name is taken
   */
  public void createSnapshot(String snapshot, SnapshotCreation... flags) {
    change(
        "rbd_group_snap_create2",
        snapshot,
        (p, arena) ->
            LibRbd.rbd_group_snap_create2(
                p, arena.cString(name), arena.cString(snapshot), SnapshotCreation.mask(flags)));
  }

  /** Removes a snapshot of the group ({@code rbd_group_snap_remove}). */
  public void removeSnapshot(String snapshot) {
    change(
        "rbd_group_snap_remove",
        snapshot,
        (p, arena) ->
            LibRbd.rbd_group_snap_remove(p, arena.cString(name), arena.cString(snapshot)));
  }

  /** Renames a snapshot of the group ({@code rbd_group_snap_rename}). */
  public void renameSnapshot(String snapshot, String newName) {
    call(
        "rbd_group_snap_rename",
        snapshot,
        (p, arena) ->
            LibRbd.rbd_group_snap_rename(
                p, arena.cString(name), arena.cString(snapshot), arena.cString(newName)));
  }

  /** The snapshots of the group ({@code rbd_group_snap_list}). */
  public List<GroupSnapshot> snapshots() {
    try (NativeArena arena = NativeArena.open()) {
      long group = arena.cString(name);
      return StructArray.read(
          pool.io(),
          "rbd_group_snap_list",
          pool.describe(name),
          GroupSnapshot.BYTES,
          (p, array, cell) ->
              LibRbd.rbd_group_snap_list(p, group, array, GroupSnapshot.BYTES, cell),
          (array, count) -> LibRbd.rbd_group_snap_list_cleanup(array, GroupSnapshot.BYTES, count),
          GroupSnapshot::decode);
    }
  }

  /** A function on a group and an image. */
  private interface ImageCall {
    int on(long groupIo, long group, long imageIo, long image);
  }
}
