package io.cephcsi.bindings.internal;

import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Pointer;

/**
 * The C library by JNA direct mapping, for what Java has no call for. A call that fails returns -1;
 * the reason is {@link #errno()} until the thread's next call.
 */
public final class LibC {
  private static final boolean ARM = System.getProperty("os.arch").equals("aarch64");

  // Of fcntl.h; two of them differ between the machines.
  public static final int O_RDONLY = 0;
  public static final int O_WRONLY = 1;
  public static final int O_CREAT = 0x40;
  public static final int O_EXCL = 0x80;
  public static final int O_DIRECTORY = ARM ? 0x4000 : 0x10000;
  public static final int O_NOFOLLOW = ARM ? 0x8000 : 0x20000;
  public static final int O_CLOEXEC = 0x80000;
  public static final int O_PATH = 0x200000;
  public static final int AT_EMPTY_PATH = 0x1000;
  public static final int AT_REMOVEDIR = 0x200;
  public static final int SEEK_SET = 0;
  public static final int LOCK_EX = 2;
  public static final int LOCK_NB = 4;

  // Of linux/fscrypt.h.
  public static final long FS_IOC_SET_ENCRYPTION_POLICY = 0x800C6613L;
  public static final long FS_IOC_GET_ENCRYPTION_POLICY_EX = 0xC0096616L;
  public static final long FS_IOC_ADD_ENCRYPTION_KEY = 0xC0506617L;
  public static final long FS_IOC_GET_ENCRYPTION_KEY_STATUS = 0xC080661AL;

  private static final NativeLibrary LIBRARY = NativeLibrary.getInstance("libc.so.6");

  static {
    Native.register(LibC.class, LIBRARY);
  }

  private LibC() {}

  /** The error number of this thread's last call; positive. */
  public static int errno() {
    return Native.getLastError();
  }

  /** The address of a function. */
  static long address(String function) {
    return Pointer.nativeValue(LIBRARY.getFunction(function));
  }

  static native int on_exit(long function, long argument);

  public static native int open(long path, int flags);

  public static native int openat(int folder, long path, int flags);

  public static native int openat(int folder, long path, int flags, int mode);

  public static native int mkdirat(int folder, long path, int mode);

  public static native int unlinkat(int folder, long path, int flags);

  public static native int close(int fd);

  public static native long read(int fd, long buf, long count);

  public static native long write(int fd, long buf, long count);

  public static native int fsync(int fd);

  public static native int flock(int fd, int operation);

  public static native long lseek(int fd, long offset, int whence);

  public static native long getdirentries(int fd, long buf, long bytes, long base);

  public static native int fchownat(int folder, long path, int owner, int group, int flags);

  public static native int chmod(long path, int mode);

  public static native int ioctl(int fd, long request, long argument);

  public static native int geteuid();

  public static native int syncfs(int fd);

  public static native int statvfs(long path, long buf);

  public static native int statx(int folder, long path, int flags, int mask, long buf);

  public static native long getxattr(long path, long name, long value, long size);
}
