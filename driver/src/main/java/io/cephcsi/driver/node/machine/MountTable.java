package io.cephcsi.driver.node.machine;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The mounts of this process's namespace at one moment. Reading it touches no file system, so it
 * never hangs on a dead one. Immutable.
 */
public final class MountTable {
  private static final Path MOUNTINFO = Path.of("/proc/self/mountinfo");

  private static final int PIECE = 4096; // what the kernel gives at once
  private static final int MOST_READINGS = 10;

  private final List<Mount> mounts;

  private MountTable(List<Mount> mounts) {
    this.mounts = List.copyOf(mounts);
  }

  /** Reads /proc/self/mountinfo. */
  public static MountTable read() {
    try {
      return parse(new String(readAlike(), UTF_8));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Reads until two readings are alike: it is read in pieces, and before Linux 5.8 a mount that
   * goes between two of them has another one left out that is there.
   */
  private static byte[] readAlike() throws IOException {
    byte[] last = Files.readAllBytes(MOUNTINFO);
    for (int reading = 1; reading < MOST_READINGS && last.length >= PIECE; reading++) {
      byte[] again = Files.readAllBytes(MOUNTINFO);
      if (Arrays.equals(again, last)) {
        break;
      }
      last = again;
    }
    return last;
  }

  /** Reads the text of a mountinfo file (proc(5)). */
  public static MountTable parse(String text) {
    List<Mount> mounts = new ArrayList<>();
    for (String line : text.split("\n", -1)) {
      if (!line.isEmpty()) {
        mounts.add(mount(line));
      }
    }
    return new MountTable(mounts);
  }

  private static Mount mount(String line) {
    // id parent major:minor root target options optional... - type source super-options
    String[] fields = line.split(" ", -1);
    int separator = 6;
    while (separator < fields.length && !fields[separator].equals("-")) {
      separator++;
    }
    if (separator + 3 >= fields.length) {
      throw new IllegalStateException("mountinfo has the line \"" + line + "\"");
    }
    return new Mount(
        Integer.parseInt(fields[0]),
        fields[2],
        plain(fields[3]),
        path(plain(fields[4])),
        options(fields[5]),
        fields[separator + 1],
        plain(fields[separator + 2]),
        options(fields[separator + 3]));
  }

  /** Others may mount at names that Java cannot say in this locale; no request can, then. */
  private static Path path(String text) {
    try {
      return Path.of(text);
    } catch (InvalidPathException e) {
      return Path.of(text.replaceAll("[^ -~]", "?"));
    }
  }

  private static Set<String> options(String text) {
    return Arrays.stream(text.split(",", -1)).collect(Collectors.toSet());
  }

  /** Undoes the kernel's escapes: blanks, backslashes and the like as three octal digits. */
  private static String plain(String text) {
    if (text.indexOf('\\') < 0) {
      return text;
    }
    byte[] bytes = text.getBytes(UTF_8);
    byte[] result = new byte[bytes.length];
    int length = 0;
    for (int i = 0; i < bytes.length; i++) {
      if (bytes[i] == '\\' && i + 3 < bytes.length) {
        result[length++] = (byte) Integer.parseInt(new String(bytes, i + 1, 3, UTF_8), 8);
        i += 3;
      } else {
        result[length++] = bytes[i];
      }
    }
    return new String(result, 0, length, UTF_8);
  }

  /** All mounts, those that lie over others behind them. */
  public List<Mount> all() {
    return mounts;
  }

  /** What is seen at a path: the last that was mounted there; empty when nothing is. */
  public Optional<Mount> at(Path target) {
    Path absolute = target.toAbsolutePath().normalize();
    return mounts.stream()
        .filter(mount -> mount.target().equals(absolute))
        .reduce((first, second) -> second);
  }

  /** All that is mounted at a path, what is seen last. */
  public List<Mount> allAt(Path target) {
    Path absolute = target.toAbsolutePath().normalize();
    return mounts.stream().filter(mount -> mount.target().equals(absolute)).toList();
  }

  /** The same without what is mounted at a path. */
  public MountTable without(Path target) {
    Path absolute = target.toAbsolutePath().normalize();
    return new MountTable(
        mounts.stream().filter(mount -> !mount.target().equals(absolute)).toList());
  }

  /** All mounts of a file system, by its major and minor number. */
  public List<Mount> ofDevice(String device) {
    return mounts.stream().filter(mount -> mount.device().equals(device)).toList();
  }
}
