package io.cephcsi.driver.fuzz;

import io.cephcsi.testing.Commands;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * Files and a mount of somebody else on the node, and whether they are as they were. The mount goes
 * with all others below the node's folder.
 */
final class ForeignFiles {
  private final Path top;
  private final Map<String, String> before;

  ForeignFiles(Path top) throws IOException {
    this.top = Files.createDirectories(top);
    Path mount = Files.createDirectory(top.resolve("mount"));
    Path folder = Files.createDirectories(top.resolve("folder/below"));
    Files.writeString(folder.resolve("file"), "of somebody else");
    Files.writeString(top.resolve("folder/image-meta.json"), "{\"of\": \"somebody else\"}");
    Files.writeString(top.resolve("file"), "of somebody else");
    Files.createSymbolicLink(top.resolve("link"), top.resolve("folder"));
    Commands.run(List.of("mkfifo", top.resolve("fifo").toString()));
    Commands.run(List.of("mknod", top.resolve("device").toString(), "c", "1", "3"));
    Commands.run(List.of("mount", "-t", "tmpfs", "foreign", mount.toString()));
    Files.writeString(mount.resolve("file"), "of somebody else");
    this.before = look();
  }

  /** Paths that a hostile caller names. */
  List<Path> paths() {
    return Stream.of(
            "folder",
            "folder/below",
            "folder/image-meta.json",
            "file",
            "link",
            "link/below",
            "link/new",
            "fifo",
            "device",
            "mount",
            "mount/new",
            "mount/file",
            "../foreign/folder")
        .map(top::resolve)
        .toList();
  }

  /** What was there and is gone, or is another now; empty when all is as it was. */
  Map<String, String> changed() {
    Map<String, String> now = look();
    Map<String, String> changed = new TreeMap<>();
    before.forEach(
        (path, what) -> {
          if (!what.equals(now.get(path))) {
            changed.put(path, "was " + what + ", is " + now.get(path));
          }
        });
    return changed;
  }

  private Map<String, String> look() {
    Map<String, String> all = new TreeMap<>();
    try (Stream<Path> files = Files.walk(top)) {
      files.forEach(path -> all.put(top.relativize(path).toString(), look(path)));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return all;
  }

  private static String look(Path path) {
    try {
      Map<String, Object> facts =
          Files.readAttributes(path, "unix:mode,uid,gid", LinkOption.NOFOLLOW_LINKS);
      boolean file = Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS);
      return new TreeMap<>(facts) + (file ? " " + Files.readString(path) : "");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
