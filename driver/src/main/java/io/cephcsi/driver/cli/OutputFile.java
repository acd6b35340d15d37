package io.cephcsi.driver.cli;

import io.cephcsi.driver.app.ConfigException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;

/** Files that commands write, which others read at any time. */
final class OutputFile {
  private OutputFile() {}

  /**
   * Replaces a file, which everybody may read, at once: who reads it sees the old text or the new.
   *
   * @throws ConfigException if it cannot be written
   */
  static void replace(Path file, String text) {
    Path absolute = file.toAbsolutePath();
    Path folder = absolute.getParent();
    try {
      Path begun =
          Files.createTempFile(folder == null ? Path.of("/") : folder, ".ceph-csi", ".tmp");
      try {
        Files.writeString(begun, text);
        Files.setPosixFilePermissions(begun, PosixFilePermissions.fromString("rw-r--r--"));
        Files.move(begun, absolute, StandardCopyOption.ATOMIC_MOVE);
      } finally {
        Files.deleteIfExists(begun); // what a full disk has left
      }
    } catch (IOException e) {
      throw new ConfigException(file + " cannot be written: " + e.getMessage(), e);
    }
  }
}
