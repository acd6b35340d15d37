package io.cephcsi.driver.node;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.linux.FileStat;
import io.cephcsi.bindings.linux.OpenFile;
import io.cephcsi.driver.cluster.LongStep;
import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
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
 * with the number of files. Not safe for several threads.
 */
public final class GroupOwnership implements AutoCloseable {
  private static final int FILE = 0660;
  private static final int FOLDER = 02770; // setgid: new files inherit the group
  private static final int MOST_OPEN = 64;
  private static final int DEEPEST = 4096; // no path of Linux can name what is deeper
  private static final long NO_GROUP = (1L << 32) - 1; // (gid_t) -1: it changes nothing
  private static final Pattern NUMBER = Pattern.compile("[0-9]{1,10}");

  private final int group;

  /** The directories from the top to the one that is looked at. */
  private final List<Level> levels = new ArrayList<>();

  private GroupOwnership(Path top, int group) {
    this.group = group;
    OpenFile folder = OpenFile.folder(top);
    levels.add(new Level("", folder, folder.stat()));
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
   * Gives a volume to its volume_mount_group; nothing to do without one, for a block volume, and
   * where the volume is mounted for reading only.
   *
   * @param path where it is mounted
   * @throws VolumeException as {@link #give(Path, String)}
   */
  public static void give(Path path, VolumeUse use) {
    give(path, "", use);
  }

  /**
   * As {@link #give(Path, VolumeUse)}, of a folder of the volume.
   *
   * @param folder its name; empty for all of the volume
   */
  public static void give(Path path, String folder, VolumeUse use) {
    if (!use.group().isEmpty()
        && MountTable.read().at(path).filter(Mount::isWritable).isPresent()) {
      give(path.resolve(folder), use.group());
    }
  }

  /**
   * Gives a volume to a group; quick when it has it already.
   *
   * @throws VolumeException FAILED_PRECONDITION when its file system refuses that
   */
  static void give(Path top, String group) {
    try (GroupOwnership ownership = new GroupOwnership(top, parse(group))) {
      if (!ownership.isDone()) {
        LongStep.run(ownership::walk);
      }
    } catch (CephException e) {
      throw switch (e.errno()) {
        case EPERM, EACCES, EROFS, EOPNOTSUPP, EINVAL ->
            new VolumeException(
                Reason.FAILED_PRECONDITION,
                "the files cannot be given to group " + group + ": " + e.getMessage(),
                e);
        default -> e;
      };
    }
  }

  private boolean isDone() {
    FileStat facts = levels.get(0).facts;
    return facts.gid() == group && (facts.permissions() & FOLDER) == FOLDER;
  }

  private void walk() {
    while (!levels.isEmpty()) {
      Level level = levels.get(levels.size() - 1);
      OpenFile folder = level.folder != null ? level.folder : reopen();
      if (folder == null) {
        levels.remove(levels.size() - 1); // somebody deleted or moved it meanwhile
      } else if (!level.waiting.isEmpty()) {
        enter(level, folder, level.waiting.remove());
      } else if (!look(level, folder)) {
        change(folder, FOLDER);
        level.close();
        levels.remove(levels.size() - 1);
      }
    }
  }

  /** Does some entries of a directory; its directories wait. */
  private boolean look(Level level, OpenFile folder) {
    List<OpenFile.Entry> entries = folder.nextEntries();
    for (OpenFile.Entry entry : entries) {
      if (entry.folder() || isFolder(level, folder, entry.name())) {
        level.waiting.add(entry.name());
      }
    }
    return !entries.isEmpty();
  }

  /** Changes an entry, unless it is a directory. */
  private boolean isFolder(Level level, OpenFile folder, String name) {
    try (OpenFile file = folder.child(name)) {
      FileStat facts = file.stat();
      if (facts.isFolder()) {
        return true;
      }
      if (facts.isBeside(level.facts)) {
        change(file, facts.isRegular() ? FILE : 0);
      }
    } catch (CephException.NotFound e) {
      return false; // somebody deleted it meanwhile
    }
    return false;
  }

  private void enter(Level level, OpenFile folder, String name) {
    OpenFile child;
    try {
      child = folder.childFolder(name);
    } catch (CephException e) {
      switch (e.errno()) {
        case ENOENT -> {}
        case ENOTDIR, ELOOP -> isFolder(level, folder, name); // something else is there by now
        default -> throw e;
      }
      return;
    }
    FileStat facts = child.stat();
    if (!facts.isBeside(level.facts)) {
      child.close();
      return;
    }
    if (levels.size() == DEEPEST) {
      child.close();
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "the files cannot be given to group "
              + group
              + ": more directories lie within each other than "
              + DEEPEST);
    }
    levels.add(new Level(name, child, facts));
    if (levels.size() > MOST_OPEN) {
      levels.get(levels.size() - MOST_OPEN).close();
    }
  }

  /** Opens the last directories anew, by their names from the top; null when they are not there. */
  private @Nullable OpenFile reopen() {
    OpenFile above = levels.get(0).folder;
    for (int i = 1; above != null && i < levels.size(); i++) {
      Level level = levels.get(i);
      OpenFile next = level.folder != null ? level.folder : level.reopen(above);
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
    private final FileStat facts;
    private final Deque<String> waiting = new ArrayDeque<>();
    private @Nullable OpenFile folder;
    private long position;

    Level(String name, OpenFile folder, FileStat facts) {
      this.name = name;
      this.folder = folder;
      this.facts = facts;
    }

    /** Opens it where it was left; null when it is not there any more. */
    @Nullable OpenFile reopen(OpenFile above) {
      try {
        OpenFile found = above.childFolder(name);
        if (!found.stat().isSame(facts)) {
          found.close();
          return null;
        }
        found.seek(position);
        folder = found;
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
