package io.cephcsi.bindings.internal;

import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;

/**
 * The C library by JNA direct mapping, for what Java has no call for. A call that fails returns -1;
 * the reason is {@link #errno()} until the thread's next call.
 */
public final class LibC {
  static {
    Native.register(LibC.class, NativeLibrary.getInstance("libc.so.6"));
  }

  private LibC() {}

  /** The error number of this thread's last call; positive. */
  public static int errno() {
    return Native.getLastError();
  }

  public static native int open(long path, int flags);

  public static native int close(int fd);

  public static native int ioctl(int fd, long request, long argument);

  public static native int syncfs(int fd);

  public static native int statvfs(long path, long buf);

  public static native int statx(int folder, long path, int flags, int mask, long buf);

  public static native long getxattr(long path, long name, long value, long size);
}
