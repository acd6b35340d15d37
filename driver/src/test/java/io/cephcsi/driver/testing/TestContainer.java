package io.cephcsi.driver.testing;

import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.node.machine.MountTable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;
import org.awaitility.Awaitility;

/**
 * What a container that shares the machine's process ids is to them: a cgroup of its own, and a
 * mount namespace. Closing it does what a container runtime does: kills all that is in the cgroup.
 */
public final class TestContainer implements AutoCloseable {
  private static final String START =
      "while [ \"$1\" != -- ]; do echo 0 > \"$1\" || exit 1; shift; done; shift;"
          + " exec unshare --mount --propagation unchanged -- \"$@\"";

  private final List<Path> cgroups;

  /** Makes its cgroup in each hierarchy of the machine. */
  public TestContainer() {
    String name = "test-container-" + UUID.randomUUID();
    cgroups = hierarchies().map(mount -> mount.target().resolve(name)).toList();
    try {
      for (Path cgroup : cgroups) {
        Files.createDirectory(cgroup);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Whether this machine lets us make cgroups. */
  public static boolean isPossible() {
    return hierarchies().findAny().isPresent()
        && hierarchies().allMatch(mount -> Files.isWritable(mount.target()));
  }

  /** Without cpuset, whose cgroups of version 1 let nobody in before they are set up. */
  private static Stream<Mount> hierarchies() {
    return MountTable.read().all().stream()
        .filter(mount -> mount.fsType().startsWith("cgroup") && mount.root().equals("/"))
        .filter(mount -> !mount.superOptions().contains("cpuset"));
  }

  /** What becomes the program that is told behind it, in the container. */
  public List<String> starter() {
    List<String> words = new ArrayList<>(List.of("/bin/sh", "-c", START, "sh"));
    cgroups.forEach(cgroup -> words.add(cgroup.resolve("cgroup.procs").toString()));
    words.add("--");
    return words;
  }

  private List<ProcessHandle> processes() {
    try {
      List<ProcessHandle> processes = new ArrayList<>();
      for (Path cgroup : cgroups) {
        for (String id : Files.readAllLines(cgroup.resolve("cgroup.procs"))) {
          ProcessHandle.of(Long.parseLong(id)).ifPresent(processes::add);
        }
      }
      return processes;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() {
    Awaitility.await()
        .atMost(Duration.ofSeconds(30))
        .until(
            () -> {
              processes().forEach(ProcessHandle::destroyForcibly);
              return processes().isEmpty();
            });
    try {
      for (Path cgroup : cgroups) {
        Files.delete(cgroup);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
