package io.cephcsi.bindings.internal;

import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;

/**
 * libcephfs by JNA direct mapping: names and order of arguments are those of {@code libcephfs.h};
 * pointers, {@code size_t} and 64-bit numbers are {@code long}, {@code mode_t} is {@code int}, no
 * logic. Only functions that every release since Ceph 16 has stand here.
 */
public final class LibCephFs {
  private static final NativeLibrary LIBRARY = NativeLibraries.cephFs();

  static {
    Native.register(LibCephFs.class, LIBRARY);
  }

  private LibCephFs() {}

  /** Whether the installed library has a function that came after Ceph 16. */
  public static boolean has(String function) {
    return NativeLibraries.has(LIBRARY, function);
  }

  public static native int ceph_create_from_rados(long cmount, long cluster);

  public static native int ceph_init(long cmount);

  public static native int ceph_select_filesystem(long cmount, long fsName);

  public static native void ceph_set_uuid(long cmount, long uuid);

  public static native int ceph_start_reclaim(long cmount, long uuid, int flags);

  public static native void ceph_finish_reclaim(long cmount);

  public static native int ceph_mount(long cmount, long root);

  public static native int ceph_unmount(long cmount);

  public static native int ceph_release(long cmount);

  public static native long ceph_get_fs_cid(long cmount);

  public static native long ceph_get_instance_id(long cmount);

  public static native int ceph_statfs(long cmount, long path, long stbuf);

  public static native int ceph_statx(long cmount, long path, long stx, int want, int flags);

  public static native int ceph_opendir(long cmount, long name, long dirpp);

  public static native int ceph_closedir(long cmount, long dirp);

  public static native void ceph_seekdir(long cmount, long dirp, long offset);

  public static native int ceph_getdnames(long cmount, long dirp, long name, int buflen);

  public static native int ceph_mkdir(long cmount, long path, int mode);

  public static native int ceph_mkdirs(long cmount, long path, int mode);

  public static native int ceph_rmdir(long cmount, long path);

  public static native int ceph_unlink(long cmount, long path);

  public static native int ceph_rename(long cmount, long from, long to);

  public static native int ceph_open(long cmount, long path, int flags, int mode);

  public static native int ceph_close(long cmount, int fd);

  public static native int ceph_read(long cmount, int fd, long buf, long size, long offset);

  public static native int ceph_write(long cmount, int fd, long buf, long size, long offset);

  public static native int ceph_fsync(long cmount, int fd, int syncdataonly);

  public static native int ceph_sync_fs(long cmount);

  public static native int ceph_getxattr(long cmount, long path, long name, long value, long size);

  public static native int ceph_setxattr(
      long cmount, long path, long name, long value, long size, int flags);

  public static native int ceph_removexattr(long cmount, long path, long name);
}
