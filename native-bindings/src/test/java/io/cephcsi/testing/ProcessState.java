package io.cephcsi.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;

/** What this process holds, as the kernel sees it. */
public final class ProcessState {
  private static final Path SELF = Path.of("/proc/self");
  private static final Pattern CEPH_THREAD =
      Pattern.compile(
          "(msgr-worker|io_context_pool|ms_|fn_|fn-|safe_timer|ceph|taskfin_|admin_socket|log"
              + "|service$).*");

  private ProcessState() {}

  /** Resident memory. */
  public static long residentBytes() {
    for (String line : lines(SELF.resolve("status"))) {
      if (line.startsWith("VmRSS:")) {
        return Long.parseLong(line.replaceAll("[^0-9]", "")) << 10;
      }
    }
    throw new IllegalStateException("/proc/self/status has no VmRSS");
  }

  /** Resident memory without the JVM's heap, whose size the collector chooses. */
  public static long residentNativeBytes() {
    System.gc();
    return residentBytes()
        - ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getCommitted();
  }

  /** Open file descriptors. */
  public static int descriptors() {
    return children(SELF.resolve("fd")).size();
  }

  /** Open sockets of any kind. */
  public static int sockets() {
    int count = 0;
    for (Path descriptor : children(SELF.resolve("fd"))) {
      try {
        if (Files.readSymbolicLink(descriptor).toString().startsWith("socket:")) {
          count++;
        }
      } catch (IOException e) {
        // closed meanwhile
      }
    }
    return count;
  }

  /** How many threads there are of each name, those that the JVM did not start included. */
  public static Map<String, Integer> threads() {
    Map<String, Integer> names = new TreeMap<>();
    for (Path task : children(SELF.resolve("task"))) {
      try {
        names.merge(Files.readString(task.resolve("comm")).strip(), 1, Integer::sum);
      } catch (IOException e) {
        // ended meanwhile
      }
    }
    return names;
  }

  /**
   * The threads that librados starts. Counted by name, for the JVM starts and ends threads of its
   * own (compiler, collector) whenever it likes.
   */
  public static int cephThreads() {
    int count = 0;
    for (Map.Entry<String, Integer> entry : threads().entrySet()) {
      if (CEPH_THREAD.matcher(entry.getKey()).matches()) {
        count += entry.getValue();
      }
    }
    return count;
  }

  private static List<String> lines(Path file) {
    try {
      return Files.readAllLines(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static List<Path> children(Path folder) {
    List<Path> paths = new ArrayList<>();
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(folder)) {
      entries.forEach(paths::add);
      return paths;
    } catch (DirectoryIteratorException e) {
      throw new UncheckedIOException(e.getCause());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
