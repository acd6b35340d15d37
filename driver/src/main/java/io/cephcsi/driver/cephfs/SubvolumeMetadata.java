package io.cephcsi.driver.cephfs;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.cephfs.CephFsFile;
import io.cephcsi.bindings.cephfs.CephFsMount;
import io.cephcsi.bindings.error.CephException;
import java.util.Optional;

/**
 * A subvolume as it is in the file system: what the manager wrote of it into its file {@code
 * .meta}, without asking the manager, which answers one question after the other.
 *
 * @param path of its data
 * @param quota in bytes; 0 without a quota
 */
record SubvolumeMetadata(String path, long quota) {
  private static final int MOST_BYTES = 64 << 10;
  private static final String SECTION = "[GLOBAL]";

  /**
   * Looks at a subvolume; four to six round trips.
   *
   * @param mount of the directory of the subvolumes
   * @return empty if there is none that is ready for use
   */
  static Optional<SubvolumeMetadata> at(OpenFileSystem files, CephFsMount mount, String name) {
    if (!isName(name)) {
      return Optional.empty();
    }
    String subvolume = files.subvolumePath(name);
    String text = read(mount, name);
    String path = value(text, "path");
    if (!value(text, "state").equals("complete")
        || !path.startsWith(subvolume + "/")
        || !isName(path.substring(subvolume.length() + 1))) {
      return Optional.empty();
    }
    try {
      String relative = path.substring(files.groupPath().length());
      return Optional.of(new SubvolumeMetadata(path, mount.usage(relative).quotaBytes().orElse(0)));
    } catch (CephException.NotFound e) {
      return Optional.empty(); // removed meanwhile
    }
  }

  /** Empty if there is none. */
  private static String read(CephFsMount mount, String name) {
    try (CephFsFile meta = mount.openFile("/" + name + "/.meta")) {
      return new String(meta.read(0, MOST_BYTES), UTF_8);
    } catch (CephException.NotFound e) {
      return "";
    }
  }

  /**
   * Whether a subvolume was removed, and is kept for its snapshots; a few round trips.
   *
   * @param mount of the directory of the subvolumes
   */
  static boolean isRetained(CephFsMount mount, String name) {
    return isName(name) && value(read(mount, name), "state").equals(SubvolumeInfo.RETAINED);
  }

  /** Whether it is the name of an entry of a directory, and leads nowhere else. */
  private static boolean isName(String name) {
    return !name.isEmpty() && !name.contains("/") && !name.equals(".") && !name.equals("..");
  }

  /** A value of the manager's own section, {@code key = value}; the others are of users. */
  private static String value(String text, String key) {
    return text.lines()
        .dropWhile(line -> !line.strip().equals(SECTION))
        .skip(1)
        .takeWhile(line -> !line.startsWith("["))
        .filter(line -> line.startsWith(key + " ") || line.startsWith(key + "="))
        .map(line -> line.substring(line.indexOf('=') + 1).strip())
        .findFirst()
        .orElse("");
  }
}
