package io.cephcsi.bindings.cephfs;

import io.cephcsi.bindings.internal.NativeMemory;
import java.time.Instant;

/**
 * What a file or directory is ({@code struct ceph_statx}).
 *
 * @param mode type and permissions, as {@code st_mode}
 * @param userId its owner
 * @param groupId its group
 * @param inode its number
 * @param size in bytes; of a directory the bytes of all files below it
 * @param modifiedAt when the content was changed
 * @param createdAt when it was made
 */
public record FileStatus(
    int mode,
    int userId,
    int groupId,
    long inode,
    long size,
    Instant modifiedAt,
    Instant createdAt) {
  static final int BYTES = 136;
  static final int WANTED = 0x00000fff; // CEPH_STATX_BASIC_STATS and CEPH_STATX_BTIME
  static final int NO_FOLLOW = 0x100; // AT_SYMLINK_NOFOLLOW

  private static final int TYPE = 0170000;
  private static final int DIRECTORY = 0040000;
  private static final int REGULAR = 0100000;

  static FileStatus decode(long stat) {
    return new FileStatus(
        NativeMemory.getInt(stat + 20) & 0xFFFF,
        NativeMemory.getInt(stat + 12),
        NativeMemory.getInt(stat + 16),
        NativeMemory.getLong(stat + 24),
        NativeMemory.getLong(stat + 32),
        time(stat + 96),
        time(stat + 112));
  }

  private static Instant time(long address) {
    return Instant.ofEpochSecond(NativeMemory.getLong(address), NativeMemory.getLong(address + 8));
  }

  /** Whether it is a directory. */
  public boolean isDirectory() {
    return (mode & TYPE) == DIRECTORY;
  }

  /** Whether it is a plain file. */
  public boolean isFile() {
    return (mode & TYPE) == REGULAR;
  }

  /** The permissions, such as 0755. */
  public int permissions() {
    return mode & 07777;
  }
}
