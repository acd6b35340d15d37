package io.cephcsi.driver.node.rbd;

import static io.cephcsi.driver.testing.NodeClient.mounted;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.node.machine.Argument;
import io.cephcsi.driver.node.machine.Command;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.testing.NodeClient;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.CapacityRange;
import io.cephcsi.proto.csi.v1.ControllerExpandVolumeRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import io.cephcsi.proto.csi.v1.VolumeUsage;
import io.cephcsi.testing.TestCluster;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;

/** RBD volumes on this machine: real devices, file systems and mounts. Needs root. */
abstract class NodeRbdCase {
  static final long MIB = 1L << 20;

  static final TestCluster CLUSTER = TestCluster.shared();

  static TestDriver driver;

  NodeClient node;

  final List<Volume> volumes = new ArrayList<>();

  @BeforeAll
  static void start() {
    driver =
        TestDriver.rbd(CLUSTER).instance("node-" + UUID.randomUUID()).withCredentials().start();
  }

  @AfterAll
  static void stop() {
    driver.close();
  }

  @BeforeEach
  void connect() {
    node = driver.node();
  }

  @AfterEach
  void cleanUp() {
    volumes.forEach(node::remove);
    node.close();
    volumes.forEach(this::deleteInTime);
  }

  /** A process that was killed is a watcher for half a minute more. */
  private void deleteInTime(Volume volume) {
    Awaitility.await()
        .atMost(Duration.ofMinutes(1))
        .ignoreExceptionsInstanceOf(StatusRuntimeException.class)
        .untilAsserted(() -> driver.delete(volume.getVolumeId()));
  }

  Volume create(long bytes) {
    Volume volume = driver.create("pvc-" + UUID.randomUUID(), bytes);
    volumes.add(volume);
    return volume;
  }

  static VolumeCapability writer(String fsType) {
    return mounted(fsType, Mode.SINGLE_NODE_WRITER);
  }

  void assertNothingIsLeft(Volume volume) {
    assertThat(node.leftovers()).isEmpty();
    assertThat(node.files("staging")).isEmpty();
    assertThat(node.files("pods")).isEmpty();
    assertThat(node.files("node")).isEmpty();
    assertThat(CLUSTER.rbd("status", CLUSTER.pool() + "/" + TestDriver.image(volume)))
        .contains("Watchers: none");
  }

  static void write(Path file, int mib) throws IOException {
    byte[] data = new byte[(int) MIB];
    Random random = new Random(mib);
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
      for (int i = 0; i < mib; i++) {
        random.nextBytes(data);
        channel.write(ByteBuffer.wrap(data));
      }
      channel.force(true);
    }
  }

  @SuppressWarnings("CheckReturnValue")
  static void grow(Volume volume, long bytes) {
    driver
        .controller()
        .controllerExpandVolume(
            ControllerExpandVolumeRequest.newBuilder()
                .setVolumeId(volume.getVolumeId())
                .setCapacityRange(CapacityRange.newBuilder().setRequiredBytes(bytes))
                .putAllSecrets(driver.secrets())
                .build());
  }

  /** Whether the kernel lets this user grow an ext4 that is mounted. */
  static boolean mayGrowExt4() throws IOException {
    String line =
        Files.readAllLines(Path.of("/proc/self/status")).stream()
            .filter(l -> l.startsWith("CapEff:"))
            .findFirst()
            .orElseThrow();
    return (Long.parseUnsignedLong(line.substring(7).strip(), 16) & 1L << 24) != 0;
  }

  long bytes(Volume volume) {
    VolumeUsage usage = node.stats(volume, "pod").getUsage(0);
    assertThat(usage.getUnit()).isEqualTo(VolumeUsage.Unit.BYTES);
    assertThat(usage.getAvailable()).isBetween(1L, usage.getTotal());
    return usage.getTotal();
  }

  Set<String> superOptions(Volume volume, VolumeCapability use) {
    node.stage(volume, use);
    Set<String> options = MountTable.read().at(place(volume)).orElseThrow().superOptions();
    node.unstage(volume);
    return options;
  }

  void publishToRead(Volume volume, VolumeCapability use) {
    assertThat(
            node.stub()
                .nodePublishVolume(
                    node.publishRequest(volume, use, "reader").setReadonly(true).build()))
        .isNotNull();
  }

  static Command.Result writeTo(Path device) {
    return Command.of("dd", "if=/dev/zero", "bs=4k", "count=1", "oflag=direct")
        .with(Argument.of("device", "of=" + device))
        .tryRun();
  }

  Path place(Volume volume) {
    return node.staging(volume).resolve(volume.getVolumeId());
  }

  Path staged(Volume volume) {
    return MountTable.read().at(place(volume)).orElseThrow().blockDevice();
  }
}
