package io.cephcsi.bindings.linux;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.error.ReturnCode;
import io.cephcsi.bindings.internal.LibC;
import io.cephcsi.bindings.internal.NativeArena;
import io.cephcsi.bindings.internal.NativeMemory;
import java.nio.file.Path;
import java.util.OptionalLong;
import java.util.function.IntUnaryOperator;

/**
 * A file system that is mounted on this machine. The calls block for as long as the file system
 * does: for ever when its server is gone. Safe for several threads.
 *
 * @param path a folder of it
 * @param device major and minor number of it, such as {@code 7:0}: {@link #trim}, {@link #sync} and
 *     {@link #freeEofBlocks} fail with ESTALE where the path shows another one, as when it was
 *     unmounted; empty for whatever the path shows
 */
public record MountedFileSystem(Path path, String device) {
  private static final int READ_ONLY_CLOSED_ON_EXEC = 0x80000; // O_RDONLY | O_CLOEXEC
  private static final long FITRIM = 0xC0185879L; // _IOWR('X', 121, struct fstrim_range)
  private static final long XFS_IOC_FREE_EOFBLOCKS = 0x8080583AL; // _IOR('X', 58, 128 bytes)
  private static final int EOFBLOCKS_BYTES = 128;
  private static final int EOFBLOCKS_VERSION = 1;
  private static final int RANGE_BYTES = 24;
  private static final int STATVFS_BYTES = 112;
  private static final int STATX_BYTES = 256;
  private static final int STATX_BASIC = 0x7ff; // STATX_BASIC_STATS
  private static final int AT_STATX_FORCE_SYNC = 0x2000;
  private static final int AT_FDCWD = -100;
  private static final String QUOTA = "ceph.quota.max_bytes";
  private static final String CONTENT = "ceph.dir.rbytes";
  private static final int NUMBER_BYTES = 32;

  /** Whatever a folder shows. */
  public MountedFileSystem(Path path) {
    this(path, "");
  }

  /**
   * Asks its server for the folder, whatever this machine remembers of it ({@code statx} with
   * AT_STATX_FORCE_SYNC): one that has cut this client off says so, though others may go on to tell
   * the room.
   *
   * @throws CephException if it is dead (ENOTCONN, ESHUTDOWN, EACCES, EIO, also ENOENT)
   */
  public void ask() {
    try (NativeArena arena = NativeArena.open()) {
      long stat = arena.allocate(STATX_BYTES);
      check(
          LibC.statx(
              AT_FDCWD, arena.cString(path.toString()), AT_STATX_FORCE_SYNC, STATX_BASIC, stat),
          "statx");
    }
  }

  /**
   * The quota of the folder in a Ceph file system ({@code getxattr ceph.quota.max_bytes}).
   *
   * @return in bytes; empty when it has none
   * @throws CephException if it is dead or not there, or EOPNOTSUPP when the file system is another
   */
  public OptionalLong quotaBytes() {
    OptionalLong bytes = number(QUOTA);
    return bytes.isPresent() && bytes.getAsLong() > 0 ? bytes : OptionalLong.empty();
  }

  /**
   * What the folder of a Ceph file system holds, with all that is below it ({@code getxattr
   * ceph.dir.rbytes}); the metadata servers count it a little later.
   *
   * @return in bytes; empty when it is not told
   * @throws CephException if it is dead or not there, or EOPNOTSUPP when the file system is another
   */
  public OptionalLong contentBytes() {
    return number(CONTENT);
  }

  private OptionalLong number(String attribute) {
    try (NativeArena arena = NativeArena.open()) {
      long value = arena.allocate(NUMBER_BYTES);
      long length =
          LibC.getxattr(
              arena.cString(path.toString()), arena.cString(attribute), value, NUMBER_BYTES);
      if (length < 0 && LibC.errno() == Errno.ENODATA.number()) {
        return OptionalLong.empty();
      }
      check((int) length, "getxattr " + attribute);
      return OptionalLong.of(Long.parseLong(NativeMemory.string(value, length).strip()));
    }
  }

  /**
   * Its room ({@code statvfs}).
   *
   * @throws CephException if it is dead (ENOTCONN, EIO) or not there
   */
  public Room room() {
    try (NativeArena arena = NativeArena.open()) {
      long stat = arena.allocate(STATVFS_BYTES);
      check(LibC.statvfs(arena.cString(path.toString()), stat), "statvfs");
      return Room.decode(stat);
    }
  }

  /**
   * Tells the device which blocks of a range are free ({@code ioctl FITRIM}). The work of one call
   * cannot be stopped: ask for short ranges.
   *
   * @param start where the range begins, in bytes of the file system
   * @param length its length in bytes
   * @param shortest free ranges below this many bytes are left out
   * @return how many bytes were discarded
   * @throws CephException EOPNOTSUPP or ENOTTY when file system or device cannot; EINVAL when the
   *     range begins behind the end
   */
  public long trim(long start, long length, long shortest) {
    try (NativeArena arena = NativeArena.open()) {
      long range = arena.allocate(RANGE_BYTES);
      NativeMemory.putLong(range, start);
      NativeMemory.putLong(range + 8, length);
      NativeMemory.putLong(range + 16, shortest);
      onFile(arena, "ioctl FITRIM", fd -> LibC.ioctl(fd, FITRIM, range));
      return NativeMemory.getLong(range + 8);
    }
  }

  /**
   * Writes all that is pending to the device ({@code syncfs}).
   *
   * @throws CephException if that fails
   */
  public void sync() {
    try (NativeArena arena = NativeArena.open()) {
      onFile(arena, "syncfs", LibC::syncfs);
    }
  }

  /**
   * Lets XFS free at once what it would free later: the extents of deleted files, and what it
   * allocated ahead of writers ({@code ioctl XFS_IOC_FREE_EOFBLOCKS}).
   *
   * @throws CephException ENOTTY when the file system is another
   */
  public void freeEofBlocks() {
    try (NativeArena arena = NativeArena.open()) {
      long request = arena.allocate(EOFBLOCKS_BYTES);
      NativeMemory.putBytes(request, new byte[EOFBLOCKS_BYTES]);
      NativeMemory.putLong(request, EOFBLOCKS_VERSION); // and no flags behind its 4 bytes
      onFile(
          arena,
          "ioctl XFS_IOC_FREE_EOFBLOCKS",
          fd -> LibC.ioctl(fd, XFS_IOC_FREE_EOFBLOCKS, request));
    }
  }

  private void onFile(NativeArena arena, String operation, IntUnaryOperator call) {
    int fd = LibC.open(arena.cString(path.toString()), READ_ONLY_CLOSED_ON_EXEC);
    check(fd, "open");
    try {
      if (!device.isEmpty() && !device.equals(deviceOf(fd, arena))) {
        throw ReturnCode.exception(-Errno.ESTALE.number(), operation, path.toString(), "");
      }
      check(call.applyAsInt(fd), operation);
    } finally {
      LibC.close(fd);
    }
  }

  private String deviceOf(int fd, NativeArena arena) {
    long stat = arena.allocate(STATX_BYTES);
    check(LibC.statx(fd, arena.cString(""), LibC.AT_EMPTY_PATH, STATX_BASIC, stat), "statx");
    return Integer.toUnsignedString(NativeMemory.getInt(stat + 136)) // stx_dev_major
        + ":"
        + Integer.toUnsignedString(NativeMemory.getInt(stat + 140)); // stx_dev_minor
  }

  private void check(int result, String operation) {
    if (result < 0) {
      throw ReturnCode.exception(-LibC.errno(), operation, path.toString(), "");
    }
  }

  /**
   * Room of a file system ({@code struct statvfs}).
   *
   * @param totalBytes how much it can hold
   * @param availableBytes how much more a user without privileges can write
   * @param freeBytes how much more root can write
   * @param files how many inodes there can be
   * @param freeFiles how many more
   */
  public record Room(
      long totalBytes, long availableBytes, long freeBytes, long files, long freeFiles) {
    static Room decode(long stat) {
      long fragment = NativeMemory.getLong(stat + 8);
      return new Room(
          NativeMemory.getLong(stat + 16) * fragment,
          NativeMemory.getLong(stat + 32) * fragment,
          NativeMemory.getLong(stat + 24) * fragment,
          NativeMemory.getLong(stat + 40),
          NativeMemory.getLong(stat + 48));
    }

    /** How much is written. */
    public long usedBytes() {
      return totalBytes - freeBytes;
    }
  }
}
