package io.cephcsi.bindings.linux;

import io.cephcsi.bindings.internal.LibC;
import io.cephcsi.bindings.internal.NativeMemory;

/**
 * The attributes of a file ({@code struct statx}).
 *
 * @param mode its kind and permissions, as {@code st_mode}
 * @param uid the number of its owner
 * @param gid the number of its group
 * @param inode its number in the file system
 * @param size in bytes
 * @param device major and minor number of its file system
 * @param mount the number of the mount that shows it; 0 before Linux 5.8
 */
public record FileStat(int mode, int uid, int gid, long inode, long size, long device, long mount) {
  static final int STATX_BYTES = 256;
  static final int MASK = 0x17ff; // STATX_BASIC_STATS | STATX_MNT_ID

  private static final int KIND = 0170000; // S_IFMT
  private static final int FOLDER = 0040000;
  private static final int REGULAR = 0100000;
  private static final int PERMISSIONS = 07777;

  static FileStat decode(long statx) {
    return new FileStat(
        NativeMemory.getInt(statx + 28) & 0xffff,
        NativeMemory.getInt(statx + 20),
        NativeMemory.getInt(statx + 24),
        NativeMemory.getLong(statx + 32),
        NativeMemory.getLong(statx + 40),
        NativeMemory.getLong(statx + 136),
        NativeMemory.getLong(statx + 144));
  }

  /** Whether it is a folder. */
  public boolean isFolder() {
    return (mode & KIND) == FOLDER;
  }

  /** Whether it is a regular file. */
  public boolean isRegular() {
    return (mode & KIND) == REGULAR;
  }

  /** Whether it belongs to the user of this process. */
  public boolean isOwn() {
    return uid == LibC.geteuid();
  }

  /** Its permissions, with setuid, setgid and the sticky bit. */
  public int permissions() {
    return mode & PERMISSIONS;
  }

  /** Whether both are seen through one mount: no other is between them. */
  public boolean isBeside(FileStat other) {
    return device == other.device && mount == other.mount;
  }

  /** Whether both are of one file. */
  public boolean isSame(FileStat other) {
    return isBeside(other) && inode == other.inode;
  }
}
