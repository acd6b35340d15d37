package io.cephcsi.driver.node.machine;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Reads /sys, where things come and go while they are read. */
public final class Sysfs {
  private Sysfs() {}

  /** The text of a file, without blanks around it; empty when it is not there, or went away. */
  public static Optional<String> text(Path file) {
    try {
      return Optional.of(new String(Files.readAllBytes(file), UTF_8).strip());
    } catch (IOException e) {
      return Optional.empty();
    }
  }

  /** What is in a directory and fits a glob; nothing when there is no such directory. */
  public static List<Path> in(Path folder, String glob) {
    List<Path> found = new ArrayList<>();
    try (DirectoryStream<Path> paths = Files.newDirectoryStream(folder, glob)) {
      paths.forEach(found::add);
    } catch (NoSuchFileException | NotDirectoryException e) {
      return List.of();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return found;
  }
}
