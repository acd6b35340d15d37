package io.cephcsi.bindings.linux;

import static io.cephcsi.bindings.internal.LibC.AT_EMPTY_PATH;
import static io.cephcsi.bindings.internal.LibC.AT_REMOVEDIR;
import static io.cephcsi.bindings.internal.LibC.O_CLOEXEC;
import static io.cephcsi.bindings.internal.LibC.O_CREAT;
import static io.cephcsi.bindings.internal.LibC.O_DIRECTORY;
import static io.cephcsi.bindings.internal.LibC.O_EXCL;
import static io.cephcsi.bindings.internal.LibC.O_NOFOLLOW;
import static io.cephcsi.bindings.internal.LibC.O_PATH;
import static io.cephcsi.bindings.internal.LibC.O_RDONLY;
import static io.cephcsi.bindings.internal.LibC.O_WRONLY;
import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.error.ReturnCode;
import io.cephcsi.bindings.internal.LibC;
import io.cephcsi.bindings.internal.NativeArena;
import io.cephcsi.bindings.internal.NativeMemory;
import java.io.ByteArrayOutputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A file, held by a descriptor ({@code open}, {@code openat}): all calls are about this file, even
 * if others rename or replace it. Symbolic links are not followed, except in the directories above
 * the first one.
 *
 * <p>Names of entries are bytes in Linux. A {@link Entry#name} has one character from 0 to 255 for
 * each of them.
 *
 * <p>The calls block for as long as the file system does. Not safe for several threads.
 */
public final class OpenFile implements AutoCloseable {
  private static final int KEEP = -1; // (uid_t) -1
  private static final int ENTRIES_BYTES = 32 << 10;
  private static final int LONGEST_NAME = 1000; // of a file far below the first one, in messages
  private static final int NAME_OFFSET = 19; // of struct dirent64
  private static final int TYPE_FOLDER = 4; // DT_DIR

  private int fd; // -1 once it is closed: the number may be that of another file then
  private final String name;

  private OpenFile(int fd, String name) {
    this.fd = fd;
    this.name = name;
  }

  /**
   * Opens a folder, to be read.
   *
   * @throws CephException ENOENT, ENOTDIR or ELOOP when there is none, or a link in its place
   */
  public static OpenFile folder(Path path) {
    return open(path, O_RDONLY | O_DIRECTORY);
  }

  /**
   * Holds a file of whatever kind, without opening what it stands for: no device, no FIFO notices.
   *
   * @throws CephException ENOENT when there is none
   */
  public static OpenFile of(Path path) {
    return open(path, O_PATH);
  }

  private static OpenFile open(Path path, int flags) {
    try (NativeArena arena = NativeArena.open()) {
      int fd = LibC.open(arena.cString(path.toString()), flags | O_NOFOLLOW | O_CLOEXEC);
      return new OpenFile(check(fd, "open", path.toString()), path.toString());
    }
  }

  /**
   * Opens a folder in this one, to be read.
   *
   * @throws CephException ENOENT, ENOTDIR or ELOOP when there is none, or something else
   */
  public OpenFile childFolder(String entry) {
    return child(entry, O_RDONLY | O_DIRECTORY);
  }

  /**
   * Holds an entry of this folder, as {@link #of} does; a symbolic link itself.
   *
   * @throws CephException ENOENT when there is none
   */
  public OpenFile child(String entry) {
    return child(entry, O_PATH);
  }

  private OpenFile child(String entry, int flags) {
    String path = pathOf(entry);
    try (NativeArena arena = NativeArena.open()) {
      int child = LibC.openat(fd, bytesOf(entry, arena), flags | O_NOFOLLOW | O_CLOEXEC);
      return new OpenFile(check(child, "openat", path), path);
    }
  }

  private String pathOf(String entry) {
    String path = name + "/" + new String(entry.getBytes(ISO_8859_1), UTF_8);
    return path.length() <= LONGEST_NAME
        ? path
        : "..." + path.substring(path.length() - LONGEST_NAME);
  }

  private static long bytesOf(String entry, NativeArena arena) {
    return arena.bytes((entry + "\0").getBytes(ISO_8859_1));
  }

  /**
   * Makes a folder in this one, and opens it ({@code mkdirat}).
   *
   * @param permissions whatever the umask says
   * @throws CephException EEXIST when something has the name, also a link
   */
  public OpenFile makeFolder(String entry, int permissions) {
    try (NativeArena arena = NativeArena.open()) {
      check(LibC.mkdirat(fd, bytesOf(entry, arena), permissions), "mkdirat", pathOf(entry));
    }
    OpenFile made = childFolder(entry);
    try {
      made.setPermissions(permissions);
      return made;
    } catch (RuntimeException e) {
      made.close();
      throw e;
    }
  }

  /**
   * Makes a file in this folder, with its content, which is on the device when this returns ({@code
   * openat}, {@code write}, {@code fsync}). This folder is not: see {@link #sync}.
   *
   * @param permissions without what the umask takes
   * @throws CephException EEXIST when something has the name, also a link
   */
  public void makeFile(String entry, int permissions, byte[] content) {
    String path = pathOf(entry);
    try (NativeArena arena = NativeArena.open()) {
      int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
      int made = check(LibC.openat(fd, bytesOf(entry, arena), flags, permissions), "openat", path);
      try {
        long bytes = arena.bytes(content);
        for (long at = 0; at < content.length; ) {
          long count = LibC.write(made, bytes + at, content.length - at);
          check((int) count, "write", path);
          at += count;
        }
        check(LibC.fsync(made), "fsync", path);
      } finally {
        LibC.close(made);
      }
    }
  }

  /**
   * Removes an entry of this folder ({@code unlinkat}); a symbolic link itself.
   *
   * @param folder whether it is one, which must be empty
   * @throws CephException ENOENT when there is none; EISDIR, ENOTDIR or ENOTEMPTY
   */
  public void remove(String entry, boolean folder) {
    try (NativeArena arena = NativeArena.open()) {
      int flags = folder ? AT_REMOVEDIR : 0;
      check(LibC.unlinkat(fd, bytesOf(entry, arena), flags), "unlinkat", pathOf(entry));
    }
  }

  /** Waits until what was changed of it is on the device ({@code fsync}). */
  public void sync() {
    check(LibC.fsync(fd), "fsync", name);
  }

  /**
   * Locks it for this descriptor alone, until it is closed ({@code flock}); on CephFS for all
   * clients of the file system.
   *
   * @return false if another has a lock
   */
  public boolean tryLock() {
    if (LibC.flock(fd, LibC.LOCK_EX | LibC.LOCK_NB) == 0) {
      return true;
    }
    if (LibC.errno() == Errno.EAGAIN.number()) { // EWOULDBLOCK
      return false;
    }
    throw ReturnCode.exception(-LibC.errno(), "flock", name, "");
  }

  /** Its descriptor, for other calls of this package. */
  int descriptor() {
    return fd;
  }

  /** Its path when it was opened, or the end of a long one; for messages. */
  String name() {
    return name;
  }

  /** What it is now ({@code statx}). */
  public FileStat stat() {
    try (NativeArena arena = NativeArena.open()) {
      long stat = arena.allocate(FileStat.STATX_BYTES);
      int result = LibC.statx(fd, arena.cString(""), AT_EMPTY_PATH, FileStat.MASK, stat);
      check(result, "statx", name);
      return FileStat.decode(stat);
    }
  }

  /**
   * Gives it to a group ({@code fchownat}).
   *
   * @param group its number, as 32 bits
   */
  public void setGroup(int group) {
    try (NativeArena arena = NativeArena.open()) {
      check(LibC.fchownat(fd, arena.cString(""), KEEP, group, AT_EMPTY_PATH), "fchownat", name);
    }
  }

  /** Sets the permissions of a folder or a regular file ({@code chmod} by the descriptor). */
  public void setPermissions(int permissions) {
    try (NativeArena arena = NativeArena.open()) {
      check(LibC.chmod(arena.cString(inProc()), permissions), "chmod", name);
    }
  }

  /**
   * The content of a regular file.
   *
   * @param most how many bytes are read at most
   */
  public byte[] read(int most) {
    try (NativeArena arena = NativeArena.open()) {
      // Opened anew by its descriptor: one from of() cannot be read.
      int open = check(LibC.open(arena.cString(inProc()), O_RDONLY | O_CLOEXEC), "open", name);
      try {
        ByteArrayOutputStream content = new ByteArrayOutputStream();
        long buffer = arena.allocate(most);
        long count;
        do {
          count = LibC.read(open, buffer, most - content.size());
          check((int) count, "read", name);
          content.writeBytes(NativeMemory.bytes(buffer, count));
        } while (count > 0 && content.size() < most);
        return content.toByteArray();
      } finally {
        LibC.close(open);
      }
    }
  }

  private String inProc() {
    return "/proc/self/fd/" + fd;
  }

  /**
   * Some entries of this folder that come next, without {@code .} and {@code ..} ({@code
   * getdents64}).
   *
   * @return empty at the end, and of a folder that was deleted
   */
  public List<Entry> nextEntries() {
    List<Entry> entries = new ArrayList<>();
    try (NativeArena arena = NativeArena.open()) {
      long buffer = arena.allocate(ENTRIES_BYTES);
      long base = arena.cell(0);
      while (entries.isEmpty()) {
        long bytes = LibC.getdirentries(fd, buffer, ENTRIES_BYTES, base);
        boolean deleted = bytes < 0 && LibC.errno() == Errno.ENOENT.number();
        if (deleted || check((int) bytes, "getdents64", name) == 0) {
          return List.of();
        }
        decode(NativeMemory.bytes(buffer, bytes), entries);
      }
    }
    return entries;
  }

  /** d_ino and d_off of 8 bytes each, d_reclen of 2, d_type of 1, the name and a zero byte. */
  private static void decode(byte[] bytes, List<Entry> entries) {
    int at = 0;
    while (at < bytes.length) {
      int length = (bytes[at + 16] & 0xff) | (bytes[at + 17] & 0xff) << 8;
      int end = at + NAME_OFFSET;
      while (bytes[end] != 0) {
        end++;
      }
      String entry = new String(bytes, at + NAME_OFFSET, end - at - NAME_OFFSET, ISO_8859_1);
      if (!entry.equals(".") && !entry.equals("..")) {
        entries.add(new Entry(entry, bytes[at + NAME_OFFSET - 1] == TYPE_FOLDER));
      }
      at += length;
    }
  }

  /** Where {@link #nextEntries} goes on, to be told to {@link #seek} of another of the folder. */
  public long position() {
    return LibC.lseek(fd, 0, 1); // SEEK_CUR
  }

  /** Goes on where another had come to ({@link #position}). */
  public void seek(long position) {
    check((int) Math.min(0, LibC.lseek(fd, position, LibC.SEEK_SET)), "lseek", name);
  }

  private static int check(int result, String operation, String object) {
    if (result < 0) {
      throw ReturnCode.exception(-LibC.errno(), operation, object, "");
    }
    return result;
  }

  /** Closes it; does nothing if it is closed. */
  @Override
  public void close() {
    int open = fd;
    fd = -1;
    if (open >= 0) {
      LibC.close(open);
    }
  }

  /**
   * An entry of a folder.
   *
   * @param name its bytes, one a character
   * @param folder whether it was a folder when it was read; false also when that is not known
   */
  public record Entry(String name, boolean folder) {}
}
