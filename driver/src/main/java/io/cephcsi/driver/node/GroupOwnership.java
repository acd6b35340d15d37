package io.cephcsi.driver.node;

import io.cephcsi.driver.volume.VolumeException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;

/**
 * Gives all files of a volume to a group (volume_mount_group): the group may read and write them,
 * and what is made in a folder belongs to it, too. The top folder comes last, so that it tells
 * whether all is done.
 */
final class GroupOwnership extends SimpleFileVisitor<Path> {
  private static final int FILE = 0660;
  private static final int FOLDER = 02770; // setgid: new files inherit the group
  private static final int PERMISSIONS = 07777;

  private final int group;

  private GroupOwnership(int group) {
    this.group = group;
  }

  /** Reads a volume_mount_group, which is a number: this driver does not know names of others. */
  static int parse(String group) {
    try {
      long number = Long.parseLong(group);
      if (number >= 0 && number < 1L << 32) {
        return (int) number;
      }
    } catch (NumberFormatException e) {
      // the answer is the same
    }
    throw VolumeException.invalid(
        "volume_capability: volume_mount_group must be the number of a group, not " + group);
  }

  /** Gives a volume to a group; quick when it has it already. */
  static void give(Path top, String group) {
    GroupOwnership ownership = new GroupOwnership(parse(group));
    try {
      if (!ownership.isDone(top)) {
        Files.walkFileTree(top, ownership);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private boolean isDone(Path top) throws IOException {
    return (Integer) attribute(top, "unix:gid") == group && (mode(top) & FOLDER) == FOLDER;
  }

  private static Object attribute(Path path, String name) throws IOException {
    return Files.getAttribute(path, name, LinkOption.NOFOLLOW_LINKS);
  }

  private static int mode(Path path) throws IOException {
    return (Integer) attribute(path, "unix:mode") & PERMISSIONS;
  }

  @Override
  public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
    change(file, attributes.isRegularFile() ? FILE : 0);
    return FileVisitResult.CONTINUE;
  }

  @Override
  public FileVisitResult visitFileFailed(Path file, IOException e) throws IOException {
    if (e instanceof NoSuchFileException) {
      return FileVisitResult.CONTINUE; // somebody deleted it meanwhile
    }
    throw e;
  }

  @Override
  public FileVisitResult postVisitDirectory(Path folder, IOException e) throws IOException {
    if (e != null && !(e instanceof NoSuchFileException)) {
      throw e;
    }
    change(folder, FOLDER);
    return FileVisitResult.CONTINUE;
  }

  private void change(Path path, int more) throws IOException {
    try {
      Files.setAttribute(path, "unix:gid", group, LinkOption.NOFOLLOW_LINKS);
      if (more != 0) {
        Files.setAttribute(path, "unix:mode", mode(path) | more);
      }
    } catch (NoSuchFileException e) {
      // somebody deleted it meanwhile
    }
  }
}
