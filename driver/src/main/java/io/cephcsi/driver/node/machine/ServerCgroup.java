package io.cephcsi.driver.node.machine;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The cgroup of the machine for processes that serve volumes. Who ends a container or a service
 * kills all that is in its cgroup: these processes are in another one, and live on. It is there
 * while one of them is. Safe for several threads.
 */
public final class ServerCgroup {
  private static final Logger LOG = LoggerFactory.getLogger(ServerCgroup.class);
  private static final String PREFIX = "ceph-csi-java";
  private static final Path PROC = Path.of("/proc");
  private static final int MOST_TRIES = 100; // to remove it
  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  /** The number that every kernel gives the namespace of the machine's process ids. */
  private static final long PIDS_OF_MACHINE = 0xEFFFFFFCL;

  /** Enters the cgroups that are named before the dashes, and becomes the program behind them. */
  private static final String ENTER =
      "while [ \"$1\" != -- ]; do echo 0 > \"$1\" || exit 1; shift; done; shift; exec \"$@\"";

  /** In version 1 nobody gets into a cgroup that has none of these. */
  private static final List<String> INHERITED = List.of("cpuset.cpus", "cpuset.mems");

  private final String name;
  private final List<Path> folders;
  private final ReadWriteLock starting = new ReentrantReadWriteLock();

  private ServerCgroup(String name, List<Path> folders) {
    this.name = name;
    this.folders = List.copyOf(folders);
  }

  /** None: processes stay where the driver is. */
  public static ServerCgroup none() {
    return new ServerCgroup("", List.of());
  }

  /**
   * That of a driver. Where processes have to stay in the driver's container, and end with it, a
   * warning says so; where nobody ends the driver's cgroup they just stay.
   *
   * @param own the folder of the driver, which gives the cgroup its name
   * @param programs those that serve volumes; without any of them there is nothing to warn of
   */
  public static ServerCgroup of(Path own, String... programs) {
    String installed =
        Arrays.stream(programs)
            .filter(program -> Command.find(program).isPresent())
            .collect(Collectors.joining(" and "));
    String ours = cgroupsOf("self");
    String first = cgroupsOf("1");
    if (installed.isEmpty() || (ours.equals(first) && seesAllProcesses())) {
      return none();
    }
    String name = PREFIX + own.toAbsolutePath().normalize().toString().replace('/', '-');
    ServerCgroup cgroup = new ServerCgroup(name, folders(MountTable.read(), name));
    Optional<String> obstacle = obstacle(ours, first).or(cgroup::unreachable);
    cgroup.removeEmpty();
    if (obstacle.isPresent()) {
      LOG.warn(
          "volumes that are served by {} end with the container of this driver: {}",
          installed,
          obstacle.get());
      return none();
    }
    LOG.info("{} of volumes run in the cgroup {} and outlive this driver", installed, name);
    return cgroup;
  }

  private static String cgroupsOf(String process) {
    return Sysfs.text(PROC.resolve(process).resolve("cgroup")).orElse("");
  }

  private static boolean seesAllProcesses() {
    try {
      return Files.getAttribute(PROC.resolve("self/ns/pid"), "unix:ino").equals(PIDS_OF_MACHINE);
    } catch (IOException e) {
      return false;
    }
  }

  /**
   * Why no process of a container can live on.
   *
   * @param ours the cgroups of this process, as in /proc
   * @param first those of process 1
   */
  static Optional<String> obstacle(String ours, String first) {
    if (ours.equals(first)) {
      return Optional.of(
          "it has process ids of its own (in Kubernetes, hostPID gives it the node's)");
    }
    return first.contains(":/..")
        ? Optional.of("it has a cgroup namespace of its own")
        : Optional.empty();
  }

  /** Where a cgroup is in the hierarchies of the machine that can be seen and changed. */
  static List<Path> folders(MountTable table, String name) {
    return table.all().stream()
        .filter(mount -> mount.fsType().equals("cgroup") || mount.fsType().equals("cgroup2"))
        .filter(mount -> mount.root().equals("/") && !mount.isReadOnly())
        .filter(mount -> table.at(mount.target()).equals(Optional.of(mount)))
        .collect(Collectors.toMap(Mount::device, Mount::target, (one, other) -> one))
        .values()
        .stream()
        .map(hierarchy -> hierarchy.resolve(name))
        .sorted()
        .toList();
  }

  /** Why no process can go there; tries it. */
  private Optional<String> unreachable() {
    if (folders.isEmpty()) {
      return Optional.of("no cgroups of the machine are mounted for writing (with its /sys)");
    }
    try {
      return run(Command.of("cat", "/proc/self/cgroup"))
          .lines()
          .filter(line -> !line.endsWith(":/") && !line.endsWith(":/" + name))
          .findFirst()
          .map(line -> "the hierarchy of its cgroup " + line + " is not mounted");
    } catch (CommandException e) {
      return Optional.of(String.valueOf(e.getMessage()));
    }
  }

  /**
   * As {@link Command#run}, in the cgroup from the beginning on; what the program leaves behind
   * stays there.
   */
  public String run(Command program) {
    starting.readLock().lock();
    try {
      for (Path folder : folders) {
        make(folder);
      }
      return program.startedBy(entering()).run();
    } catch (IOException e) {
      throw new CommandException("there is no cgroup for " + program + ": " + e.getMessage(), e);
    } finally {
      starting.readLock().unlock();
    }
  }

  private static void make(Path folder) throws IOException {
    try {
      Files.createDirectory(folder);
    } catch (FileAlreadyExistsException e) {
      // another process is in it, or was
    }
    for (String setting : INHERITED) {
      Optional<String> above = Sysfs.text(folder.resolveSibling(setting));
      if (above.isPresent() && Sysfs.text(folder.resolve(setting)).equals(Optional.of(""))) {
        Files.writeString(folder.resolve(setting), above.get());
      }
    }
  }

  private List<String> entering() {
    if (folders.isEmpty()) {
      return List.of();
    }
    List<String> words = new ArrayList<>(List.of("/bin/sh", "-c", ENTER, "sh"));
    folders.forEach(folder -> words.add(folder.resolve("cgroup.procs").toString()));
    words.add("--");
    return words;
  }

  /**
   * Removes it if no process is in it, and none is being started. The kernel keeps it until the
   * last one, which may be ending, was waited for: it is tried again for a moment.
   */
  public void removeEmpty() {
    if (!starting.writeLock().tryLock()) {
      return;
    }
    try {
      for (int tries = 1; !isRemoved() && tries < MOST_TRIES && isWithoutProcess(); tries++) {
        LockSupport.parkNanos(PAUSE_NANOS);
      }
    } finally {
      starting.writeLock().unlock();
    }
  }

  private boolean isRemoved() {
    try {
      for (Path folder : folders) {
        Files.deleteIfExists(folder);
      }
      return true;
    } catch (IOException e) {
      LOG.debug("{} is in use: {}", name, e.getMessage());
      return false;
    }
  }

  /** One that is ending has no arguments any more, but may still be there. */
  private boolean isWithoutProcess() {
    return folders.stream()
        .map(folder -> Sysfs.text(folder.resolve("cgroup.procs")).orElse(""))
        .flatMap(String::lines)
        .allMatch(id -> Sysfs.text(PROC.resolve(id).resolve("cmdline")).orElse("").isEmpty());
  }
}
