package io.cephcsi.testing;

import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.Structure;
import java.io.IOException;
import java.io.UncheckedIOException;
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

  /** Bytes that malloc has given out and that were not freed; the JVM's heap is not among them. */
  public static long mallocBytes() {
    MallocInfo info = Glibc.INSTANCE.mallinfo2();
    return info.uordblks + info.hblkhd;
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

  /** The C library. */
  public interface Glibc extends Library {
    /** The library of this process. */
    Glibc INSTANCE = Native.load("c", Glibc.class);

    /** Sums up all arenas of malloc. */
    MallocInfo mallinfo2();
  }

  /** {@code struct mallinfo2}. */
  @Structure.FieldOrder({
    "arena",
    "ordblks",
    "smblks",
    "hblks",
    "hblkhd",
    "usmblks",
    "fsmblks",
    "uordblks",
    "fordblks",
    "keepcost"
  })
  public static class MallocInfo extends Structure implements Structure.ByValue {
    public long arena;
    public long ordblks;
    public long smblks;
    public long hblks;
    public long hblkhd;
    public long usmblks;
    public long fsmblks;
    public long uordblks;
    public long fordblks;
    public long keepcost;
  }
}
