package io.cephcsi.driver.node.machine;

import java.nio.file.Path;
import java.util.Set;

/**
 * A mount of this process's namespace, as /proc/self/mountinfo shows it.
 *
 * @param id its number; numbers are used again
 * @param device major and minor number of the file system, such as {@code 7:0}
 * @param root which part of the file system is shown: {@code /} for all
 * @param target where it is
 * @param options of this mount, such as {@code ro}
 * @param fsType the kind of file system
 * @param source what is mounted, as the kernel was told
 * @param superOptions of the file system, such as {@code ro}
 */
public record Mount(
    int id,
    String device,
    String root,
    Path target,
    Set<String> options,
    String fsType,
    String source,
    Set<String> superOptions) {
  private static final String REMOVED = "//deleted"; // the kernel's mark of a node that is gone

  /** Copies the sets. */
  public Mount {
    options = Set.copyOf(options);
    superOptions = Set.copyOf(superOptions);
  }

  /**
   * Whether its file system refuses writes after an error, although it was mounted for writing. The
   * kernel then marks the file system and not the mount; ext4 has a mark of its own from Linux 6.15
   * on.
   */
  public boolean hasFailed() {
    return !options.contains("ro")
        && (superOptions.contains("ro") || superOptions.contains("emergency_ro"));
  }

  /** Whether a file system is mounted that this mount does not forbid to write. */
  public boolean isWritable() {
    return !isDevice() && !options.contains("ro");
  }

  /** Whether the node of a device is bound, and no file system mounted. */
  public boolean isDevice() {
    return fsType.equals("devtmpfs");
  }

  /**
   * Whether the node of a device is bound that is gone: another device may have its name and number
   * by now, and is what the bind shows then.
   */
  public boolean isGone() {
    return isDevice() && root.endsWith(REMOVED);
  }

  /** Whether it is bound as a device that had such a node and is gone. */
  boolean isGone(String name) {
    return isDevice() && root.equals("/" + name + REMOVED);
  }

  /** The device that a file system is on, or that is bound; a path of no device if it is gone. */
  public Path blockDevice() {
    return Path.of(isDevice() ? "/dev" + root : source);
  }

  /** Whether both show the same part of the same file system. */
  public boolean shows(Mount other) {
    return device.equals(other.device) && root.equals(other.root);
  }

  /**
   * What a mount is that shows a folder of what this one shows, where nothing else is different.
   */
  public Mount part(String folder) {
    String path = root.equals("/") ? root + folder : root + "/" + folder;
    return new Mount(id, device, path, target, options, fsType, source, superOptions);
  }

  /** Whether this mount, or its whole file system, refuses writes. */
  public boolean isReadOnly() {
    return options.contains("ro") || superOptions.contains("ro");
  }
}
