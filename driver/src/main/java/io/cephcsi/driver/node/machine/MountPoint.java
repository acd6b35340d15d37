package io.cephcsi.driver.node.machine;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;

/**
 * The empty directories and files that something is mounted over. What has content, a device, a
 * socket or a link is none: that is somebody's, and neither covered nor removed. For paths where
 * nothing is mounted. Blocks.
 */
public final class MountPoint {
  private MountPoint() {}

  /**
   * Makes one, with the directories above it, or finds it.
   *
   * @param folder whether it is to be a directory; else a file
   * @throws VolumeException FAILED_PRECONDITION when something else is there, or it cannot be made
   */
  public static void make(Path path, boolean folder) {
    try {
      if (folder ? isEmptyFolder(path) : isEmptyFile(path)) {
        return;
      }
      remove(path); // one of the other kind
      if (folder) {
        Files.createDirectories(path);
      } else {
        Path parent = path.getParent();
        if (parent != null) {
          Files.createDirectories(parent);
        }
        Files.createFile(path);
      }
    } catch (IOException e) {
      throw failed(path + " cannot be made: " + e, e);
    }
  }

  /**
   * Removes one; nothing to do where there is none.
   *
   * @throws VolumeException FAILED_PRECONDITION when something else is there
   */
  public static void remove(Path path) {
    try {
      requireNoneElse(path);
      Files.deleteIfExists(path);
    } catch (DirectoryNotEmptyException e) {
      throw foreign(path);
    } catch (IOException e) {
      throw failed(path + " cannot be removed: " + e, e);
    }
  }

  /**
   * Requires that there is a mount point, or nothing.
   *
   * @throws VolumeException FAILED_PRECONDITION when something else is there
   */
  public static void requireNoneElse(Path path) {
    try {
      if (Files.exists(path, LinkOption.NOFOLLOW_LINKS)
          && !isEmptyFolder(path)
          && !isEmptyFile(path)) {
        throw foreign(path);
      }
    } catch (NoSuchFileException e) {
      // it went away meanwhile
    } catch (IOException e) {
      throw failed(path + " cannot be looked at: " + e, e);
    }
  }

  private static boolean isEmptyFolder(Path path) throws IOException {
    if (!Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)) {
      return false;
    }
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(path)) {
      return !entries.iterator().hasNext();
    }
  }

  private static boolean isEmptyFile(Path path) throws IOException {
    if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
      return false;
    }
    BasicFileAttributes facts =
        Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
    return facts.isRegularFile() && facts.size() == 0;
  }

  private static VolumeException foreign(Path path) {
    return new VolumeException(
        Reason.FAILED_PRECONDITION,
        path + " is no mount point and not empty: it is neither used nor removed");
  }

  private static VolumeException failed(String why, IOException e) {
    return new VolumeException(Reason.FAILED_PRECONDITION, why, e);
  }
}
