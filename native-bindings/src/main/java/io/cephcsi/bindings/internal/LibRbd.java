package io.cephcsi.bindings.internal;

import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import org.jspecify.annotations.Nullable;

/**
 * librbd by JNA direct mapping: names and order of arguments are those of {@code librbd.h};
 * pointers, {@code size_t} and 64-bit numbers are {@code long}, {@code bool} is {@code byte}, no
 * logic. Only functions that every release since Ceph 16 has stand here.
 */
public final class LibRbd {
  private static final NativeLibrary LIBRARY = NativeLibraries.rbd();

  static {
    Native.register(LibRbd.class, LIBRARY);
  }

  private LibRbd() {}

  /** Whether the installed library has a function that came after Ceph 16. */
  public static boolean has(String function) {
    return NativeLibraries.has(LIBRARY, function);
  }

  public static native void rbd_version(long major, long minor, long extra);

  public static native void rbd_image_options_create(long opts);

  public static native void rbd_image_options_destroy(long opts);

  public static native int rbd_image_options_set_string(long opts, int optname, long optval);

  public static native int rbd_image_options_set_uint64(long opts, int optname, long optval);

  public static native int rbd_list2(long io, long images, long maxImages);

  public static native void rbd_image_spec_list_cleanup(long images, long numImages);

  public static native int rbd_create4(long io, long name, long size, long opts);

  public static native int rbd_clone3(
      long pIoctx, long pName, long pSnapname, long cIoctx, long cName, long cOpts);

  public static native int rbd_remove_with_progress(
      long io, long name, @Nullable ProgressCallback cb, long cbdata);

  public static native int rbd_rename(long srcIoCtx, long srcname, long destname);

  public static native int rbd_open(long io, long name, long image, long snapName);

  public static native int rbd_open_by_id(long io, long id, long image, long snapName);

  public static native int rbd_open_read_only(long io, long name, long image, long snapName);

  public static native int rbd_open_by_id_read_only(long io, long id, long image, long snapName);

  public static native int rbd_close(long image);

  public static native int rbd_trash_move(long io, long name, long delay);

  public static native int rbd_trash_get(long io, long id, long info);

  public static native void rbd_trash_get_cleanup(long info);

  public static native int rbd_trash_remove_with_progress(
      long io, long id, byte force, @Nullable ProgressCallback cb, long cbdata);

  public static native int rbd_trash_restore(long io, long id, long name);

  public static native int rbd_stat(long image, long info, long infosize);

  public static native int rbd_get_size(long image, long size);

  public static native int rbd_get_features(long image, long features);

  public static native int rbd_update_features(long image, long features, byte enabled);

  public static native int rbd_get_op_features(long image, long opFeatures);

  public static native int rbd_get_flags(long image, long flags);

  public static native int rbd_get_stripe_unit(long image, long stripeUnit);

  public static native int rbd_get_stripe_count(long image, long stripeCount);

  public static native int rbd_get_create_timestamp(long image, long timestamp);

  public static native int rbd_get_overlap(long image, long overlap);

  public static native int rbd_get_name(long image, long name, long nameLen);

  public static native int rbd_get_id(long image, long id, long idLen);

  public static native int rbd_get_block_name_prefix(long image, long prefix, long prefixLen);

  public static native long rbd_get_data_pool_id(long image);

  public static native int rbd_get_parent(long image, long parentImage, long parentSnap);

  public static native void rbd_linked_image_spec_cleanup(long image);

  public static native void rbd_snap_spec_cleanup(long snap);

  public static native int rbd_get_group(long image, long groupInfo, long groupInfoSize);

  public static native int rbd_group_info_cleanup(long groupInfo, long groupInfoSize);

  public static native int rbd_resize2(
      long image, long size, byte allowShrink, @Nullable ProgressCallback cb, long cbdata);

  public static native int rbd_rebuild_object_map(
      long image, @Nullable ProgressCallback cb, long cbdata);

  public static native int rbd_invalidate_cache(long image);

  public static native int rbd_flush(long image);

  public static native int rbd_is_exclusive_lock_owner(long image, long isOwner);

  public static native int rbd_lock_acquire(long image, int lockMode);

  public static native int rbd_lock_release(long image);

  public static native int rbd_lock_get_owners(
      long image, long lockMode, long lockOwners, long maxLockOwners);

  public static native void rbd_lock_get_owners_cleanup(long lockOwners, long lockOwnerCount);

  public static native int rbd_lock_break(long image, int lockMode, long lockOwner);

  public static native int rbd_snap_list(long image, long snaps, long maxSnaps);

  public static native void rbd_snap_list_end(long snaps);

  public static native int rbd_snap_exists(long image, long snapname, long exists);

  public static native int rbd_snap_create2(
      long image, long snapName, int flags, @Nullable ProgressCallback cb, long cbdata);

  public static native int rbd_snap_remove2(
      long image, long snapName, int flags, @Nullable ProgressCallback cb, long cbdata);

  public static native int rbd_snap_remove_by_id(long image, long snapId);

  public static native int rbd_snap_rename(long image, long snapname, long dstsnapsname);

  public static native int rbd_snap_rollback_with_progress(
      long image, long snapname, @Nullable ProgressCallback cb, long cbdata);

  public static native int rbd_snap_protect(long image, long snapName);

  public static native int rbd_snap_unprotect(long image, long snapName);

  public static native int rbd_snap_is_protected(long image, long snapName, long isProtected);

  public static native int rbd_snap_set(long image, long snapname);

  public static native int rbd_snap_set_by_id(long image, long snapId);

  public static native int rbd_snap_get_id(long image, long snapname, long snapId);

  public static native int rbd_snap_get_namespace_type(long image, long snapId, long namespaceType);

  public static native int rbd_snap_get_trash_namespace(
      long image, long snapId, long originalName, long maxLength);

  public static native int rbd_snap_get_timestamp(long image, long snapId, long timestamp);

  public static native int rbd_snap_get_group_namespace(
      long image, long snapId, long groupSnap, long groupSnapSize);

  public static native int rbd_snap_group_namespace_cleanup(long groupSnap, long groupSnapSize);

  public static native int rbd_flatten_with_progress(
      long image, @Nullable ProgressCallback cb, long cbdata);

  public static native int rbd_list_children3(long image, long images, long maxImages);

  public static native void rbd_linked_image_spec_list_cleanup(long images, long numImages);

  public static native int rbd_list_descendants(long image, long images, long maxImages);

  public static native long rbd_read(long image, long ofs, long len, long buf);

  public static native long rbd_write(long image, long ofs, long len, long buf);

  public static native int rbd_discard(long image, long ofs, long len);

  public static native long rbd_write_zeroes(
      long image, long ofs, long len, int zeroFlags, int opFlags);

  public static native int rbd_aio_create_completion(
      long cbArg, @Nullable CompletionCallback completeCb, long c);

  public static native int rbd_aio_wait_for_complete(long c);

  public static native int rbd_aio_is_complete(long c);

  public static native long rbd_aio_get_return_value(long c);

  public static native void rbd_aio_release(long c);

  public static native int rbd_aio_read(long image, long off, long len, long buf, long c);

  public static native int rbd_aio_write(long image, long off, long len, long buf, long c);

  public static native int rbd_aio_discard(long image, long off, long len, long c);

  public static native int rbd_aio_write_zeroes(
      long image, long off, long len, long c, int zeroFlags, int opFlags);

  public static native int rbd_aio_flush(long image, long c);

  public static native int rbd_diff_iterate2(
      long image,
      long fromsnapname,
      long ofs,
      long len,
      byte includeParent,
      byte wholeObject,
      DiffCallback cb,
      long arg);

  public static native int rbd_sparsify_with_progress(
      long image, long sparseSize, @Nullable ProgressCallback cb, long cbdata);

  public static native int rbd_metadata_get(long image, long key, long value, long valLen);

  public static native int rbd_metadata_set(long image, long key, long value);

  public static native int rbd_metadata_remove(long image, long key);

  public static native int rbd_metadata_list(
      long image, long start, long max, long keys, long keyLen, long values, long valsLen);

  public static native int rbd_watchers_list(long image, long watchers, long maxWatchers);

  public static native void rbd_watchers_list_cleanup(long watchers, long numWatchers);

  public static native int rbd_group_create(long p, long name);

  public static native int rbd_group_remove(long p, long name);

  public static native int rbd_group_list(long p, long names, long size);

  public static native int rbd_group_rename(long p, long srcName, long destName);

  public static native int rbd_group_image_add(
      long groupP, long groupName, long imageP, long imageName);

  public static native int rbd_group_image_remove(
      long groupP, long groupName, long imageP, long imageName);

  public static native int rbd_group_image_remove_by_id(
      long groupP, long groupName, long imageP, long imageId);

  public static native int rbd_group_image_list(
      long groupP, long groupName, long images, long groupImageInfoSize, long numEntries);

  public static native int rbd_group_image_list_cleanup(
      long images, long groupImageInfoSize, long numEntries);

  public static native int rbd_group_snap_create2(
      long groupP, long groupName, long snapName, int flags);

  public static native int rbd_group_snap_remove(long groupP, long groupName, long snapName);

  public static native int rbd_group_snap_rename(
      long groupP, long groupName, long oldSnapName, long newSnapName);

  public static native int rbd_group_snap_list(
      long groupP, long groupName, long snaps, long groupSnapInfoSize, long numEntries);

  public static native int rbd_group_snap_list_cleanup(
      long snaps, long groupSnapInfoSize, long numEntries);

  public static native int rbd_pool_init(long io, byte force);

  public static native int rbd_namespace_create(long io, long namespaceName);

  public static native int rbd_namespace_remove(long io, long namespaceName);

  public static native int rbd_namespace_exists(long io, long namespaceName, long exists);

  public static native int rbd_mirror_image_get_info(
      long image, long mirrorImageInfo, long infoSize);

  public static native void rbd_mirror_image_get_info_cleanup(long mirrorImageInfo);

  public static native int rbd_mirror_mode_get(long ioCtx, long mirrorMode);

  public static native int rbd_mirror_image_enable2(long image, int mode);

  public static native int rbd_mirror_image_disable(long image, byte force);

  public static native int rbd_mirror_image_promote(long image, byte force);

  public static native int rbd_mirror_image_demote(long image);

  public static native int rbd_mirror_image_resync(long image);

  public static native int rbd_mirror_image_create_snapshot2(long image, int flags, long snapId);

  public static native int rbd_mirror_image_get_mode(long image, long mode);

  public static native int rbd_mirror_image_get_global_status(
      long image, long mirrorImageGlobalStatus, long statusSize);

  public static native void rbd_mirror_image_global_status_cleanup(long mirrorImageGlobalStatus);

  public static native int rbd_mirror_image_get_instance_id(
      long image, long instanceId, long idMaxLength);
}
