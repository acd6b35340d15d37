package io.cephcsi.testing;

import com.github.dockerjava.api.model.Ulimit;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.DockerImageName;

/**
 * A cluster in a container of the image ceph/demo, or of one with the same contract, which
 * ci/image/ceph-demo builds. It is on the host's network: librados must reach the addresses that
 * the monitors announce.
 */
final class ContainerCluster extends TestCluster {
  private static final String IMAGE = "quay.io/ceph/demo:latest-quincy";

  /** Of containers: the process that started them. ci/image/ceph-demo removes those it left. */
  private static final String OWNER = "io.cephcsi.owner";

  private static final Pattern LIMIT =
      Pattern.compile("^Max (open files|processes) +\\S+ +(\\d+) ", Pattern.MULTILINE);
  private static final long ENOUGH = 32_768;
  private static final Map<String, String> LIMITS =
      Map.of("open files", "nofile", "processes", "nproc");

  /** What the tests know the file system's pools by; the image calls them otherwise. */
  private static final Map<String, String> RENAMED =
      Map.of("cephfs_data", "cephfs.data", "cephfs_metadata", "cephfs.metadata");

  /**
   * Its ceph.conf wants two copies of each object, which one OSD never has: such a cluster is
   * degraded, and reclaims wait for it.
   */
  private static final Map<String, String> MONITOR_SETTINGS =
      Map.of(
          "mon_allow_pool_delete", "true",
          "mon_allow_pool_size_one", "true",
          "mon_warn_on_pool_no_redundancy", "false",
          "osd_pool_default_size", "1");

  private final GenericContainer<?> container;
  private final Path folder;
  private final String monitors;

  private ContainerCluster(GenericContainer<?> container, Path folder) {
    this.container = container;
    this.folder = folder;
    this.monitors =
        Commands.run(List.of("ceph-conf", "-c", conf().toString(), "--lookup", "mon_host")).strip();
  }

  @SuppressWarnings("resource") // closed by close() or, with the JVM, by Testcontainers
  static ContainerCluster up() {
    String image = System.getenv().getOrDefault("CEPH_DEMO_IMAGE", IMAGE);
    long process = ProcessHandle.current().pid();
    List<Ulimit> limits = limits();
    GenericContainer<?> container =
        new GenericContainer<>(DockerImageName.parse(image))
            .withNetworkMode("host")
            .withLabel(OWNER, Long.toString(process))
            .withEnv("MON_IP", address(process))
            .withEnv("CEPH_PUBLIC_NETWORK", "127.0.0.0/8")
            .withEnv("CEPH_DEMO_UID", "demo")
            .withEnv("DEMO_DAEMONS", "mon,mgr,osd,mds")
            .withCreateContainerCmdModifier(
                command -> {
                  if (command.getHostConfig() != null) {
                    command.getHostConfig().withUlimits(limits);
                  }
                })
            // The monitor answers long before the rest is there.
            .waitingFor(
                Wait.forSuccessfulCommand(
                        "test -e /etc/ceph/I_AM_A_DEMO && ceph -s --connect-timeout 5")
                    .withStartupTimeout(Duration.ofMinutes(5)));
    container.start();
    try {
      ContainerCluster cluster = new ContainerCluster(container, folder(container));
      cluster.prepare();
      return cluster;
    } catch (IOException | RuntimeException e) {
      container.stop();
      throw new IllegalStateException("the cluster in " + image + " cannot be used", e);
    }
  }

  /**
   * An address of loopback for each process: the monitor's port is always the same, and test JVMs
   * run beside each other.
   */
  private static String address(long process) {
    return "127.%d.%d.%d"
        .formatted(1 + (process >> 16) % 250, process >> 8 & 0xff, 1 + process % 250);
  }

  /**
   * What this process may have, as far as Ceph can need it; podman takes no more. An engine that
   * may not raise limits, as podman in a container, starts nothing with its own defaults.
   */
  private static List<Ulimit> limits() {
    List<Ulimit> limits = new ArrayList<>();
    try {
      Matcher matcher = LIMIT.matcher(Files.readString(Path.of("/proc/self/limits")));
      while (matcher.find()) {
        long most = Math.min(Long.parseLong(matcher.group(2)), ENOUGH);
        limits.add(new Ulimit(LIMITS.get(matcher.group(1)), most, most));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return limits;
  }

  /** What clients need, in a folder of this process. */
  private static Path folder(GenericContainer<?> container) throws IOException {
    Path folder = Files.createTempDirectory("ceph-demo");
    folder.toFile().deleteOnExit();
    for (String file : new String[] {"ceph.conf", "ceph.client.admin.keyring"}) {
      folder.resolve(file).toFile().deleteOnExit();
      container.copyFileFromContainer("/etc/ceph/" + file, folder.resolve(file).toString());
    }
    Files.writeString(
        folder.resolve("ceph.conf"),
        Files.readString(folder.resolve("ceph.conf"))
            + "\n[client]\nkeyring = "
            + folder.resolve("ceph.client.admin.keyring")
            + "\n");
    return folder;
  }

  /** The pools and the subvolume group that tests expect, and what the driver asks answers. */
  private void prepare() {
    MONITOR_SETTINGS.forEach(
        (option, value) -> ceph("tell", "mon.*", "config", "set", option, value));
    RENAMED.forEach((from, to) -> ceph("osd", "pool", "rename", from, to));
    List<String> pools = List.of("rbd", "rbd2", "rbd-data");
    pools.forEach(pool -> ceph("osd", "pool", "create", pool, "8"));
    for (String pool : ceph("osd", "pool", "ls").lines().toList()) {
      ceph("osd", "pool", "set", pool, "size", "1", "--yes-i-really-mean-it");
    }
    pools.forEach(pool -> rbd("pool", "init", pool));
    untilItWorks("fs", "subvolumegroup", "create", fileSystem(), "csi");
    untilItWorks("rbd", "task", "list");
  }

  /** A module of the manager says that it is not ready, while it loads. */
  private void untilItWorks(String... command) {
    for (int tries = 1; ; tries++) {
      try {
        ceph(command);
        return;
      } catch (IllegalStateException e) {
        if (tries == 60) {
          throw e;
        }
        System.err.println("asking again: " + e.getMessage());
      }
    }
  }

  @Override
  public Path conf() {
    return folder.resolve("ceph.conf");
  }

  /**
   * As its ceph.conf has them: where only one of the protocols is served, a wrong key times out.
   */
  @Override
  public String monitors() {
    return monitors;
  }

  @Override
  public String rbdUser() {
    return "admin";
  }

  @Override
  protected Path keyring(String user) {
    return folder.resolve("ceph.client." + user + ".keyring");
  }

  @Override
  public void close() {
    container.stop();
  }
}
