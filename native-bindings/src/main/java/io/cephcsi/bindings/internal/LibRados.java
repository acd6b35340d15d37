package io.cephcsi.bindings.internal;

import com.sun.jna.Native;
import org.jspecify.annotations.Nullable;

/**
 * librados by JNA direct mapping: names and order of arguments are those of {@code librados.h};
 * pointers, {@code size_t} and 64-bit numbers are {@code long}, no logic.
 */
public final class LibRados {
  /** {@code LIBRADOS_CMPXATTR_OP_EQ}. */
  public static final byte CMP_EQ = 1;

  static {
    Native.register(LibRados.class, NativeLibraries.rados());
  }

  private LibRados() {}

  public static native void rados_version(long major, long minor, long extra);

  public static native int rados_conf_set(long cluster, long option, long value);

  public static native int rados_conf_get(long cluster, long option, long buf, long len);

  public static native int rados_cluster_fsid(long cluster, long buf, long len);

  public static native int rados_cluster_stat(long cluster, long result);

  public static native int rados_wait_for_latest_osdmap(long cluster);

  public static native int rados_pool_list(long cluster, long buf, long len);

  public static native long rados_get_instance_id(long cluster);

  public static native int rados_getaddrs(long cluster, long addrs);

  public static native long rados_pool_lookup(long cluster, long poolName);

  public static native int rados_pool_reverse_lookup(long cluster, long id, long buf, long maxlen);

  public static native int rados_ioctx_create(long cluster, long poolName, long ioctx);

  public static native int rados_ioctx_create2(long cluster, long poolId, long ioctx);

  public static native long rados_ioctx_get_cluster(long io);

  public static native void rados_ioctx_destroy(long io);

  public static native long rados_ioctx_get_id(long io);

  public static native void rados_ioctx_set_namespace(long io, long nspace);

  public static native void rados_set_pool_full_try(long io);

  public static native long rados_get_last_version(long io);

  public static native int rados_nobjects_list_open(long io, long ctx);

  public static native int rados_nobjects_list_next2(
      long ctx, long entry, long key, long nspace, long entrySize, long keySize, long nspaceSize);

  public static native void rados_nobjects_list_close(long ctx);

  public static native int rados_read(long io, long oid, long buf, long len, long off);

  public static native int rados_write(long io, long oid, long buf, long len, long off);

  public static native int rados_write_full(long io, long oid, long buf, long len);

  public static native int rados_append(long io, long oid, long buf, long len);

  public static native int rados_trunc(long io, long oid, long size);

  public static native int rados_remove(long io, long oid);

  public static native int rados_stat(long io, long o, long psize, long pmtime);

  public static native int rados_getxattr(long io, long o, long name, long buf, long len);

  public static native int rados_setxattr(long io, long o, long name, long buf, long len);

  public static native int rados_rmxattr(long io, long o, long name);

  public static native int rados_getxattrs(long io, long oid, long iter);

  public static native int rados_getxattrs_next(long iter, long name, long val, long len);

  public static native void rados_getxattrs_end(long iter);

  public static native int rados_exec(
      long io, long oid, long cls, long method, long inBuf, long inLen, long buf, long outLen);

  public static native int rados_omap_get_next2(
      long iter, long key, long val, long keyLen, long valLen);

  public static native int rados_omap_iter_size(long iter);

  public static native void rados_omap_get_end(long iter);

  public static native int rados_aio_create_completion2(
      long cbArg, @Nullable CompletionCallback cbComplete, long pc);

  public static native int rados_aio_wait_for_complete(long c);

  public static native int rados_aio_wait_for_complete_and_cb(long c);

  public static native int rados_aio_is_complete(long c);

  public static native int rados_aio_get_return_value(long c);

  public static native long rados_aio_get_version(long c);

  public static native void rados_aio_release(long c);

  public static native int rados_aio_flush(long io);

  public static native long rados_create_write_op();

  public static native void rados_release_write_op(long writeOp);

  public static native void rados_write_op_assert_exists(long writeOp);

  public static native void rados_write_op_assert_version(long writeOp, long ver);

  public static native void rados_write_op_create(long writeOp, int exclusive, long category);

  public static native void rados_write_op_write(long writeOp, long buffer, long len, long offset);

  public static native void rados_write_op_write_full(long writeOp, long buffer, long len);

  public static native void rados_write_op_append(long writeOp, long buffer, long len);

  public static native void rados_write_op_truncate(long writeOp, long offset);

  public static native void rados_write_op_zero(long writeOp, long offset, long len);

  public static native void rados_write_op_remove(long writeOp);

  public static native void rados_write_op_setxattr(
      long writeOp, long name, long value, long valueLen);

  public static native void rados_write_op_rmxattr(long writeOp, long name);

  public static native void rados_write_op_cmpxattr(
      long writeOp, long name, byte comparisonOperator, long value, long valueLen);

  public static native void rados_write_op_cmpext(
      long writeOp, long cmpBuf, long cmpLen, long off, long prval);

  public static native void rados_write_op_omap_set(
      long writeOp, long keys, long vals, long lens, long num);

  public static native void rados_write_op_omap_rm_keys2(
      long writeOp, long keys, long keyLens, long keysLen);

  public static native void rados_write_op_omap_clear(long writeOp);

  public static native void rados_write_op_omap_cmp(
      long writeOp, long key, byte comparisonOperator, long val, long valLen, long prval);

  public static native void rados_write_op_exec(
      long writeOp, long cls, long method, long inBuf, long inLen, long prval);

  public static native int rados_write_op_operate(
      long writeOp, long io, long oid, long mtime, int flags);

  public static native int rados_aio_write_op_operate(
      long writeOp, long io, long completion, long oid, long mtime, int flags);

  public static native void rados_aio_ioctx_selfmanaged_snap_create(
      long io, long snapId, long completion);

  public static native int rados_ioctx_selfmanaged_snap_remove(long io, long snapId);

  public static native long rados_create_read_op();

  public static native void rados_release_read_op(long readOp);

  public static native void rados_read_op_assert_exists(long readOp);

  public static native void rados_read_op_assert_version(long readOp, long ver);

  public static native void rados_read_op_omap_cmp2(
      long readOp,
      long key,
      byte comparisonOperator,
      long val,
      long keyLen,
      long valLen,
      long prval);

  public static native void rados_read_op_getxattrs(long readOp, long iter, long prval);

  public static native void rados_read_op_stat(long readOp, long psize, long pmtime, long prval);

  public static native void rados_read_op_read(
      long readOp, long offset, long len, long buffer, long bytesRead, long prval);

  public static native void rados_read_op_exec(
      long readOp,
      long cls,
      long method,
      long inBuf,
      long inLen,
      long outBuf,
      long outLen,
      long prval);

  public static native void rados_read_op_omap_get_vals2(
      long readOp,
      long startAfter,
      long filterPrefix,
      long maxReturn,
      long iter,
      long pmore,
      long prval);

  public static native void rados_read_op_omap_get_keys2(
      long readOp, long startAfter, long maxReturn, long iter, long pmore, long prval);

  public static native void rados_read_op_omap_get_vals_by_keys2(
      long readOp, long keys, long numKeys, long keyLens, long iter, long prval);

  public static native int rados_read_op_operate(long readOp, long io, long oid, int flags);

  public static native int rados_aio_read_op_operate(
      long readOp, long io, long completion, long oid, int flags);

  public static native int rados_watch3(
      long io,
      long o,
      long cookie,
      WatchCallback watchcb,
      WatchErrorCallback watcherrcb,
      int timeout,
      long arg);

  public static native int rados_unwatch2(long io, long cookie);

  public static native int rados_watch_check(long io, long cookie);

  public static native int rados_watch_flush(long cluster);

  public static native int rados_notify2(
      long io, long o, long buf, int bufLen, long timeoutMs, long replyBuffer, long replyBufferLen);

  public static native int rados_notify_ack(
      long io, long o, long notifyId, long cookie, long buf, int bufLen);

  public static native int rados_decode_notify_response(
      long replyBuffer,
      long replyBufferLen,
      long acks,
      long nrAcks,
      long timeouts,
      long nrTimeouts);

  public static native int rados_blocklist_add(long cluster, long clientAddress, int expireSeconds);

  public static native int rados_mon_command(
      long cluster,
      long cmd,
      long cmdlen,
      long inbuf,
      long inbuflen,
      long outbuf,
      long outbuflen,
      long outs,
      long outslen);

  public static native int rados_mgr_command(
      long cluster,
      long cmd,
      long cmdlen,
      long inbuf,
      long inbuflen,
      long outbuf,
      long outbuflen,
      long outs,
      long outslen);

  public static native int rados_osd_command(
      long cluster,
      int osdid,
      long cmd,
      long cmdlen,
      long inbuf,
      long inbuflen,
      long outbuf,
      long outbuflen,
      long outs,
      long outslen);

  public static native void rados_buffer_free(long buf);

  public static native int rados_lock_exclusive(
      long io, long oid, long name, long cookie, long desc, long duration, byte flags);

  public static native int rados_lock_shared(
      long io, long o, long name, long cookie, long tag, long desc, long duration, byte flags);

  public static native int rados_unlock(long io, long o, long name, long cookie);

  public static native long rados_list_lockers(
      long io,
      long o,
      long name,
      long exclusive,
      long tag,
      long tagLen,
      long clients,
      long clientsLen,
      long cookies,
      long cookiesLen,
      long addrs,
      long addrsLen);

  public static native int rados_break_lock(long io, long o, long name, long client, long cookie);
}
