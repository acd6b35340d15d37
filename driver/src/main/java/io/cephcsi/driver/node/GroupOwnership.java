package io.cephcsi.driver.node;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.linux.FileStat;
import io.cephcsi.bindings.linux.MountedFileSystem;
import io.cephcsi.bindings.linux.MountedFileSystem.Room;
import io.cephcsi.bindings.linux.OpenFile;
import io.cephcsi.driver.cluster.LongStep;
import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Gives all files of a volume to a group (volume_mount_group): the group may read and write them,
 * and what is made in a directory belongs to it, too. The top directory comes last, so that it
 * tells whether all is done.
 *
 * <p>Others rename and link in the volume meanwhile. So every file is held by a descriptor, reached
 * from its directory's by its name alone, and never by a path or a link; what is on another mount
 * is left alone. At most {@link #MOST_OPEN} directories are open at once, and memory does not grow
 * with the number of files: names that wait in outer directories are forgotten, and read again when
 * the walk comes back. Not safe for several threads.
 *
 * <p>A file system that somebody wrote to as a device may show a directory in several others, and
 * so have no end: the walk ends with an error when it has seen more than the file system has room
 * for.
 */
public final class GroupOwnership implements AutoCloseable {
  private static final int FILE = 0660;
  private static final int FOLDER = 02770; // setgid: new files inherit the group
  private static final int MOST_OPEN = 64;
  private static final int DEEPEST = 4096; // no path of Linux can name what is deeper
  private static final int LONGEST = 256 << 10; // bytes of the names from the top: 64 PATH_MAX
  private static final int MOST_WAITING = 256 << 10; // bytes: what getdents64 tells three times
  private static final int NAME_BYTES = 64; // that a name takes beside its characters
  private static final int ENTRY_BYTES = 8; // less than any takes in a directory of ext4 or XFS
  private static final int MOVED = 2; // so often others may make the walk meet what it met before
  private static final long NO_GROUP = (1L << 32) - 1; // (gid_t) -1: it changes nothing
  private static final Pattern NUMBER = Pattern.compile("[0-9]{1,10}");

  private final int group;
  private final Optional<Operation> operation;
  private final FileStat top;

  /** The directories from the top to the one that is looked at. */
  private final List<Level> levels = new ArrayList<>();

  private long waitingBytes;
  private long nameBytes;
  private long folders;
  private long mostFolders = Long.MAX_VALUE;
  private long entries;
  private long mostEntries = Long.MAX_VALUE;

  private GroupOwnership(OpenFile folder, int group, Optional<Operation> operation) {
    this.group = group;
    this.operation = operation;
    this.top = folder.stat();
    levels.add(new Level("", folder, top.inode()));
  }

  /**
   * Requires that a volume_mount_group, if there is one, is the number of a group: this driver does
   * not know names of others.
   *
   * @throws VolumeException INVALID_ARGUMENT when it is not
   */
  public static void requireKnown(VolumeUse use) {
    if (!use.group().isEmpty()) {
      parse(use.group());
    }
  }

  private static int parse(String group) {
    if (NUMBER.matcher(group).matches() && Long.parseLong(group) < NO_GROUP) {
      return (int) Long.parseLong(group);
    }
    throw VolumeException.invalid(
        "volume_mount_group must be the number of a group, not " + PlainText.show(group));
  }

  /**
   * Gives a volume, or a folder of it, to its volume_mount_group; nothing to do without one, for a
   * block volume, and where the volume is mounted for reading only. Quick when the folder has the
   * group already. Blocks for as long as it takes: there is no time limit, as what is not done
   * would be begun anew each time.
   *
   * @param path where the volume is mounted
   * @param folder the folder's name; empty for all of the volume
   * @param operation of the call, which ends when the volume is to be unstaged
   * @throws VolumeException FAILED_PRECONDITION when the file system refuses that, or is damaged;
   *     ABORTED when the operation was cancelled
   */
  public static void give(Path path, String folder, VolumeUse use, Operation operation) {
    if (!use.group().isEmpty()
        && MountTable.read().at(path).filter(Mount::isWritable).isPresent()) {
      give(path, folder, use.group(), Optional.of(operation));
    }
  }

  /** As the other, whatever is mounted there; without an operation it cannot be ended. */
  static void give(Path path, String folder, String group, Optional<Operation> operation) {
    int number = parse(group);
    try (OpenFile top = OpenFile.folder(path.resolve(folder));
        GroupOwnership ownership = new GroupOwnership(top, number, operation)) {
      if (!ownership.isDone()) {
        operation.ifPresent(it -> it.endsFor("NodeUnstageVolume"));
        ownership.bound(new MountedFileSystem(path).room());
        LongStep.run(ownership::walk);
      }
    } catch (CephException e) {
      throw switch (e.errno()) {
        case EPERM, EACCES, EROFS, EOPNOTSUPP, EINVAL, ELOOP, EUCLEAN, EBADMSG ->
            new VolumeException(
                Reason.FAILED_PRECONDITION,
                "the files cannot be given to group " + group + ": " + e.getMessage(),
                e);
        default -> e;
      };
    }
  }

  private boolean isDone() {
    return top.gid() == group && (top.permissions() & FOLDER) == FOLDER;
  }

  /** Each directory is one of the files that there can be; CephFS does not tell of those. */
  private void bound(Room room) {
    if (room.files() > 0 && room.freeFiles() >= 0) {
      mostFolders = MOVED * room.files();
      mostEntries = MOVED * (room.totalBytes() / ENTRY_BYTES);
    }
  }

  private void walk() {
    while (!levels.isEmpty()) {
      requireToGoOn();
      Level level = levels.get(levels.size() - 1);
      OpenFile folder = level.folder != null ? level.folder : reopen();
      if (folder == null) {
        leave(level); // somebody deleted or moved it meanwhile
      } else if (level.behind != null) {
        recall(level, folder, level.behind);
      } else if (level.waiting != null) {
        enter(folder, next(level, level.waiting));
      } else if (!look(level, folder)) {
        change(folder, FOLDER);
        leave(level);
      }
    }
  }

  private void requireToGoOn() {
    if (operation.isPresent() && operation.get().isCancelled()) {
      throw new VolumeException(
          Reason.ABORTED,
          "not all files were given to the group: " + operation.get().whyCancelled());
    }
    if (folders > mostFolders || entries > mostEntries) {
      throw cannot(
          "there are more of them than their file system has room for: one that is damaged shows"
              + " a directory in several others; check it (e2fsck -f or xfs_repair)");
    }
  }

  private VolumeException cannot(String why) {
    return new VolumeException(
        Reason.FAILED_PRECONDITION,
        "the files cannot be given to group " + Integer.toUnsignedString(group) + ": " + why);
  }

  private void leave(Level level) {
    level.close();
    forget(level);
    nameBytes -= level.name.length();
    levels.remove(levels.size() - 1);
  }

  private String next(Level level, Deque<String> waiting) {
    String name = waiting.remove();
    waitingBytes -= bytes(name);
    if (waiting.isEmpty()) {
      level.waiting = null; // an empty one keeps its memory
    }
    return name;
  }

  private static int bytes(String name) {
    return name.length() + NAME_BYTES;
  }

  private void forget(Level level) {
    if (level.waiting != null) {
      level.waiting.forEach(name -> waitingBytes -= bytes(name));
      level.waiting = null;
    }
  }

  /** Does some entries of a directory; its directories wait. */
  private boolean look(Level level, OpenFile folder) {
    level.from = folder.position();
    return take(level, folder, folder.nextEntries());
  }

  /**
   * Reads the names that were forgotten again, and goes on behind the one that the walk was in. All
   * are done again when that is not there any more.
   */
  private void recall(Level level, OpenFile folder, String behind) {
    folder.seek(level.from);
    List<OpenFile.Entry> found = folder.nextEntries();
    level.behind = null;
    int at = found.size() - 1;
    while (at >= 0 && !found.get(at).name().equals(behind)) {
      at--;
    }
    take(level, folder, found.subList(at + 1, found.size()));
  }

  private boolean take(Level level, OpenFile folder, List<OpenFile.Entry> found) {
    entries += found.size();
    for (OpenFile.Entry entry : found) {
      if (entry.folder() || isFolder(folder, entry.name())) {
        if (level.waiting == null) {
          level.waiting = new ArrayDeque<>();
        }
        level.waiting.add(entry.name());
        waitingBytes += bytes(entry.name());
      }
    }
    for (int i = 0; waitingBytes > MOST_WAITING && i < levels.size() - 1; i++) {
      if (levels.get(i).waiting != null) {
        forget(levels.get(i));
        levels.get(i).behind = levels.get(i + 1).name;
      }
    }
    return !found.isEmpty();
  }

  /** Changes an entry, unless it is a directory. */
  private boolean isFolder(OpenFile folder, String name) {
    try (OpenFile file = folder.child(name)) {
      FileStat facts = file.stat();
      if (facts.isFolder()) {
        return true;
      }
      if (facts.isBeside(top)) {
        change(file, facts.isRegular() ? FILE : 0);
      }
    } catch (CephException.NotFound e) {
      return false; // somebody deleted it meanwhile
    }
    return false;
  }

  private void enter(OpenFile folder, String name) {
    OpenFile child;
    try {
      child = folder.childFolder(name);
    } catch (CephException e) {
      switch (e.errno()) {
        case ENOENT -> {}
        case ENOTDIR, ELOOP -> isFolder(folder, name); // something else is there by now
        default -> throw e;
      }
      return;
    }
    boolean entered = false;
    try {
      entered = enter(name, child);
    } finally {
      if (!entered) {
        child.close();
      }
    }
  }

  private boolean enter(String name, OpenFile child) {
    FileStat facts = child.stat();
    if (!facts.isBeside(top)) {
      return false;
    }
    if (levels.size() == DEEPEST || nameBytes + name.length() > LONGEST) {
      throw cannot(
          "more directories lie within each other than %d, or their names have more than %d bytes"
              .formatted(DEEPEST, LONGEST));
    }
    folders++;
    nameBytes += name.length();
    levels.add(new Level(name, child, facts.inode()));
    if (levels.size() > MOST_OPEN) {
      levels.get(levels.size() - MOST_OPEN).close();
    }
    return true;
  }

  /** Opens the last directories anew, by their names from the top; null when they are not there. */
  private @Nullable OpenFile reopen() {
    OpenFile above = levels.get(0).folder;
    for (int i = 1; above != null && i < levels.size(); i++) {
      Level level = levels.get(i);
      OpenFile next = level.folder != null ? level.folder : level.reopen(above, top);
      if (i > 1 && i <= levels.size() - MOST_OPEN / 2) {
        levels.get(i - 1).close();
      }
      above = next;
    }
    return above;
  }

  private void change(OpenFile file, int more) {
    try {
      file.setGroup(group);
      if (more != 0) {
        file.setPermissions(file.stat().permissions() | more);
      }
    } catch (CephException.NotFound e) {
      // somebody deleted it meanwhile
    }
  }

  @Override
  public void close() {
    levels.forEach(Level::close);
  }

  /** A directory on the way down. */
  private static final class Level {
    private final String name;
    private final long inode;

    /** The directories in it that wait; null when there are none. */
    private @Nullable Deque<String> waiting;

    /** What was entered last, when those that wait were forgotten; null when they were not. */
    private @Nullable String behind;

    private @Nullable OpenFile folder;
    private long position;

    /** Where those that wait were read. */
    private long from;

    Level(String name, OpenFile folder, long inode) {
      this.name = name;
      this.folder = folder;
      this.inode = inode;
    }

    /** Opens it where it was left; null when it is not there any more. */
    @Nullable OpenFile reopen(OpenFile above, FileStat top) {
      try {
        OpenFile found = above.childFolder(name);
        folder = found;
        FileStat facts = found.stat();
        if (!facts.isBeside(top) || facts.inode() != inode) {
          found.close();
          folder = null;
          return null;
        }
        found.seek(position);
        return found;
      } catch (CephException e) {
        return switch (e.errno()) {
          case ENOENT, ENOTDIR, ELOOP -> null;
          default -> throw e;
        };
      }
    }

    void close() {
      if (folder != null) {
        position = folder.position();
        folder.close();
        folder = null;
      }
    }
  }
}
