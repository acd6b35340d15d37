package io.cephcsi.driver.crash;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import net.bytebuddy.asm.Advice;

/**
 * Shows a driver files below a folder as if they were in /sys, too, where a machine without a
 * device mapper has no decrypted devices: {@link PlainMapper} puts them there. It does nothing
 * unless the property says which folder.
 */
public final class MappedDevices {
  /** The property that says which folder. */
  static final String PROPERTY = "ceph-csi.mapped";

  private static final String FOLDER = System.getProperty(PROPERTY, "");

  private MappedDevices() {}

  /** Inlined in the method that reads a file of /sys. */
  static final class OfText {
    private OfText() {}

    @Advice.OnMethodExit
    static void exit(
        @Advice.Argument(0) Path file, @Advice.Return(readOnly = false) Optional<String> found) {
      found = text(file, found);
    }
  }

  /** Inlined in the method that lists a directory of /sys. */
  static final class OfDirectory {
    private OfDirectory() {}

    @Advice.OnMethodExit
    static void exit(
        @Advice.Argument(0) Path folder,
        @Advice.Argument(1) String glob,
        @Advice.Return(readOnly = false) List<Path> found) {
      found = in(folder, glob, found);
    }
  }

  private static Path shown(Path path) {
    return Path.of(FOLDER + path);
  }

  private static boolean isShown(Path path) {
    return !FOLDER.isEmpty() && path.startsWith("/sys");
  }

  /** What is in a file of /sys, or in that which is shown there. */
  public static Optional<String> text(Path file, Optional<String> found) {
    if (found.isPresent() || !isShown(file)) {
      return found;
    }
    try {
      byte[] bytes = Files.readAllBytes(shown(file));
      return Optional.of(new String(bytes, StandardCharsets.UTF_8).strip());
    } catch (IOException e) {
      return found; // there is no such file
    }
  }

  /** What is in a directory of /sys, and what is shown there. */
  public static List<Path> in(Path folder, String glob, List<Path> found) {
    if (!isShown(folder) || !Files.isDirectory(shown(folder))) {
      return found;
    }
    List<Path> all = new ArrayList<>(found);
    try (DirectoryStream<Path> more = Files.newDirectoryStream(shown(folder), glob)) {
      more.forEach(all::add);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return all;
  }
}
