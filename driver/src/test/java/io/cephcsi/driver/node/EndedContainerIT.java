package io.cephcsi.driver.node;

import static io.cephcsi.driver.testing.NodeClient.mounted;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.cephcsi.driver.app.DriverConfig;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.testing.NodeClient;
import io.cephcsi.driver.testing.ServedProcess;
import io.cephcsi.driver.testing.TestContainer;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import io.cephcsi.testing.Commands;
import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The container of a node plugin ends, and all processes in it, while volumes are in use. */
class EndedContainerIT {
  private static final long MIB = 1L << 20;
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final VolumeCapability USE = mounted("xfs", Mode.SINGLE_NODE_WRITER);
  private static final Duration LIMIT = Duration.ofSeconds(30);

  /** What the container has of the machine: mounts get out of it and into it. */
  @TempDir private Path shared;

  private Path folder = Path.of("");
  private final List<TestContainer> containers = new ArrayList<>();
  private final List<ServedProcess> processes = new ArrayList<>();
  private final List<NodeClient> nodes = new ArrayList<>();

  @BeforeEach
  void share() throws IOException {
    assumeTrue(TestContainer.isPossible(), "cgroups can be made here");
    Commands.run(List.of("mount", "--bind", shared.toString(), shared.toString()));
    Commands.run(List.of("mount", "--make-shared", shared.toString()));
    folder = Files.createDirectory(shared.resolve("machine"));
  }

  @AfterEach
  void end() {
    nodes.forEach(NodeClient::close);
    containers.forEach(TestContainer::close);
    processes.forEach(ServedProcess::close);
    Commands.run(List.of("umount", shared.toString()));
  }

  private ServedProcess start(DriverConfig.Type type, String... starter) throws IOException {
    TestContainer container = new TestContainer();
    containers.add(container);
    List<String> words = Stream.concat(container.starter().stream(), Stream.of(starter)).toList();
    ServedProcess process =
        ServedProcess.startBy(
            words,
            folder,
            "--type=" + type.name().toLowerCase(Locale.ROOT),
            "--nodeserver",
            "--nodeid=" + TestDriver.NODE_ID,
            "--endpoint=unix://" + folder.resolve("csi.sock"),
            "--node-folder=" + folder.resolve("node"),
            "--clusters-file=" + TestDriver.clustersFile(CLUSTER, folder));
    processes.add(process);
    return process;
  }

  private NodeClient client(ServedProcess process, DriverConfig.Type type) {
    NodeClient node =
        new NodeClient(
            process.awaitServing(folder.resolve("csi.sock")),
            TestDriver.secrets(CLUSTER, type),
            folder);
    nodes.add(node);
    return node;
  }

  /** Ends the container that was started last. */
  private void endContainer() {
    containers.remove(containers.size() - 1).close();
    processes.get(processes.size() - 1).awaitExit(LIMIT);
  }

  private static List<Long> ids(NodeClient node) {
    return node.daemons().stream().map(ProcessHandle::pid).toList();
  }

  /** The cgroups of servers that there are in all hierarchies. */
  private List<Path> cgroups() {
    String name = "ceph-csi-java" + folder.resolve("node").toString().replace('/', '-');
    return MountTable.read().all().stream()
        .filter(mount -> mount.fsType().startsWith("cgroup"))
        .map(mount -> mount.target().resolve(name))
        .filter(Files::exists)
        .toList();
  }

  @Test
  void anRbdVolumeIsServedOn() throws Exception {
    try (TestDriver controller =
        TestDriver.rbd(CLUSTER).instance("ended-container").controllerOnly(false).start()) {
      isServedOn(controller, DriverConfig.Type.RBD, 384 * MIB);
    }
  }

  @Test
  void aCephFsVolumeIsServedOn() throws Exception {
    try (TestDriver controller =
        TestDriver.cephFs(CLUSTER).instance("ended-container").controllerOnly(false).start()) {
      isServedOn(controller, DriverConfig.Type.CEPHFS, 64 * MIB);
    }
  }

  private void isServedOn(TestDriver controller, DriverConfig.Type type, long size)
      throws IOException {
    Volume volume = controller.create("pvc-" + UUID.randomUUID(), size);
    ServedProcess first = start(type);
    NodeClient node = client(first, type);
    node.stage(volume, USE);
    Path file = node.publish(volume, USE, "pod").resolve("file");
    Files.writeString(file, "before");
    List<Long> servers = ids(node);
    assertThat(servers).hasSize(1);
    assertThat(cgroups()).isNotEmpty();
    assertThat(first.output()).contains("outlive this driver");

    endContainer();
    assertThat(first.isAlive()).isFalse();
    assertThat(ids(node)).isEqualTo(servers);
    Files.writeString(file, " and after", StandardOpenOption.APPEND);
    Commands.run(List.of("sync", "-f", file.toString()));
    assertThat(file).hasContent("before and after");

    NodeClient next = client(start(type), type);
    assertThat(next.stats(volume, "pod").getVolumeCondition().getAbnormal()).isFalse();
    next.stage(volume, USE);
    next.publish(volume, USE, "pod");
    assertThat(controller.expand(volume.getVolumeId(), 2 * size)).isEqualTo(2 * size);
    assertThat(next.expand(volume, "pod")).isNotNull();
    assertThat(file.toFile().getTotalSpace()).isGreaterThan(size * 3 / 2);
    assertThat(file).hasContent("before and after");
    assertThat(ids(next)).isEqualTo(servers);
    next.unpublish(volume, "pod");
    next.unstage(volume);
    assertThat(next.leftovers()).isEmpty();
    assertThat(next.files("node")).isEmpty();
    assertThat(cgroups()).isEmpty();
    controller.delete(volume.getVolumeId());
  }

  @Test
  void whereTheMachinesCgroupsAreNotMountedTheLogSaysWhatEndsWithTheContainer() throws Exception {
    String hide = "umount --recursive /sys/fs/cgroup; exec \"$@\"";
    ServedProcess process = start(DriverConfig.Type.RBD, "sh", "-c", hide, "sh");
    assertThat(process.awaitServing(folder.resolve("csi.sock"))).isNotNull();
    assertThat(process.output())
        .containsOnlyOnce("WARN")
        .contains("volumes that are served by", "qemu-storage-daemon", "end with the container")
        .contains("no cgroups of the machine are mounted");
  }
}
