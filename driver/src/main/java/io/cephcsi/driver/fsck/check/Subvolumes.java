package io.cephcsi.driver.fsck.check;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.cephfs.CephFsFile;
import io.cephcsi.bindings.cephfs.CephFsMount;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.volume.CheckedName;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * The subvolumes of a group, read from the file system itself: the manager would take some
 * milliseconds for each question, one after the other. A group that is not there has none. Safe for
 * several threads; methods block until the MDS answers.
 *
 * @param mount the file system, which whoever mounted it closes
 * @param root the directory of the group in it; empty if that is what is mounted
 * @param group its name
 */
record Subvolumes(CephFsMount mount, String root, String group) {
  private static final int META_BYTES = 16_384;

  /**
   * What the manager recorded of a subvolume.
   *
   * @param state such as {@code complete}
   * @param path of the data in the mounted directory; empty if it is retained
   */
  record Recorded(String state, Optional<String> path) {
    boolean isRetained() {
      return state.equals("snapshot-retained");
    }
  }

  /** The names of all subvolumes, and of whatever else is in the group's directory. */
  List<String> names() {
    try {
      return mount.names(root + "/");
    } catch (CephException.NotFound e) {
      return List.of();
    }
  }

  /** Whether there is such a directory. */
  boolean exists(String name) {
    return isName(name) && mount.find(at(name)).isPresent();
  }

  /** A path in the group's directory. */
  private String at(String path) {
    return root + "/" + path;
  }

  private static boolean isName(String name) {
    return CheckedName.problem(name).isEmpty();
  }

  /** What is recorded of a subvolume; empty if there is none. */
  Optional<Recorded> find(String name) {
    if (!exists(name)) {
      return Optional.empty();
    }
    try (CephFsFile file = mount.openFile(at(name + "/.meta"))) {
      String text = new String(file.read(0, META_BYTES), UTF_8);
      return Optional.of(
          new Recorded(
              value(text, "state").orElse("complete"),
              value(text, "path").flatMap(path -> below(name, path))));
    } catch (CephException.NotFound e) {
      return Optional.of(new Recorded("complete", Optional.empty())); // of the first version
    }
  }

  /** The directory in that of the subvolume: what others may have written leads nowhere else. */
  private Optional<String> below(String name, String path) {
    String directory = path.substring(path.lastIndexOf('/') + 1);
    return path.endsWith("/" + name + "/" + directory) && isName(directory)
        ? Optional.of(at(name + "/" + directory))
        : Optional.empty();
  }

  private static Optional<String> value(String text, String key) {
    return text.lines()
        .map(line -> line.split("=", 2))
        .filter(parts -> parts.length == 2 && parts[0].strip().equals(key))
        .map(parts -> parts[1].strip())
        .findFirst();
  }

  /** The quota of a path that {@link #find} gave; empty if it has none, or is not there. */
  OptionalLong quota(String path) {
    try {
      return mount.usage(path).quotaBytes();
    } catch (CephException.NotFound e) {
      return OptionalLong.empty();
    }
  }

  /** What is stored below a subvolume's directory, snapshots left out. */
  OptionalLong bytes(String name) {
    return bytesBelow(at(name));
  }

  /** What a snapshot of a subvolume shows; what the subvolume still has of it is counted, too. */
  OptionalLong bytes(String name, String snapshot) {
    return bytesBelow(at(name + "/.snap/" + snapshot));
  }

  private OptionalLong bytesBelow(String directory) {
    try {
      return OptionalLong.of(mount.usage(directory).bytes());
    } catch (CephException.NotFound e) {
      return OptionalLong.empty();
    }
  }

  /** The names of the snapshots of a subvolume. */
  List<String> snapshots(String name) {
    try {
      return mount.snapshots(at(name)).names();
    } catch (CephException.NotFound e) {
      return List.of();
    } catch (CephException e) {
      if (e.errno() == Errno.ENOTDIR) {
        return List.of(); // a file in the group's directory
      }
      throw e;
    }
  }

  /** Whether a snapshot is there, by its journal entry. */
  boolean exists(JournalEntry snapshot) {
    String source = snapshot.source().orElse("");
    return isName(source)
        && isName(snapshot.name())
        && mount.snapshots(at(source)).exists(snapshot.name());
  }
}
