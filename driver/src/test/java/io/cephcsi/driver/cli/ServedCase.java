package io.cephcsi.driver.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.ServedProcess;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.CapacityRange;
import io.cephcsi.proto.csi.v1.ControllerGrpc;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeRequest;
import io.cephcsi.proto.csi.v1.GetPluginInfoRequest;
import io.cephcsi.proto.csi.v1.IdentityGrpc;
import io.cephcsi.testing.TestCluster;
import io.grpc.ManagedChannel;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** What the tests share that start the program as it is delivered. */
abstract class ServedCase {
  static final TestCluster CLUSTER = TestCluster.shared();
  static final Duration SOON = Duration.ofSeconds(40);

  @TempDir Path folder;
  Path socket = Path.of("");
  private final List<ServedProcess> processes = new ArrayList<>();

  @BeforeEach
  void socket() {
    socket = folder.resolve("csi.sock");
  }

  @AfterEach
  void end() {
    processes.forEach(ServedProcess::close);
  }

  ServedProcess start(String... args) {
    ServedProcess process = ServedProcess.start(folder, args);
    processes.add(process);
    return process;
  }

  /** An RBD controller for the test's cluster. */
  ServedProcess startRbd(String... more) throws IOException {
    return start(
        Stream.concat(
                Stream.of(
                    "--type=rbd",
                    "--nodeid=node-1",
                    "--controllerserver=true",
                    "--endpoint=unix://" + socket,
                    "--clusters-file=" + TestDriver.clustersFile(CLUSTER, folder)),
                Stream.of(more))
            .toArray(String[]::new));
  }

  static int freePort() throws IOException {
    try (ServerSocket any = new ServerSocket(0)) {
      return any.getLocalPort();
    }
  }

  static CreateVolumeRequest createRequest(String key) {
    return CreateVolumeRequest.newBuilder()
        .setName("pvc-" + UUID.randomUUID())
        .setCapacityRange(CapacityRange.newBuilder().setRequiredBytes(32 << 20))
        .addVolumeCapabilities(TestDriver.singleWriter())
        .putAllParameters(Map.of("clusterID", TestDriver.CLUSTER_ID, "pool", CLUSTER.pool()))
        .putAllSecrets(Map.of("userID", CLUSTER.rbdUser(), "userKey", key))
        .build();
  }

  static CreateVolumeRequest createRequest() {
    return createRequest(CLUSTER.key(CLUSTER.rbdUser()));
  }

  @SuppressWarnings("CheckReturnValue")
  static void createAndDelete(ManagedChannel channel) {
    String id =
        ControllerGrpc.newBlockingStub(channel)
            .createVolume(createRequest())
            .getVolume()
            .getVolumeId();
    delete(channel, id);
  }

  @SuppressWarnings("CheckReturnValue")
  static void delete(ManagedChannel channel, String id) {
    ControllerGrpc.newBlockingStub(channel)
        .deleteVolume(
            DeleteVolumeRequest.newBuilder()
                .setVolumeId(id)
                .putAllSecrets(
                    Map.of("userID", CLUSTER.rbdUser(), "userKey", CLUSTER.key(CLUSTER.rbdUser())))
                .build());
  }

  static String nameOf(ManagedChannel channel) {
    return IdentityGrpc.newBlockingStub(channel)
        .getPluginInfo(GetPluginInfoRequest.getDefaultInstance())
        .getName();
  }

  void assertExit(int code, String text, String... args) {
    ServedProcess process = start(args);
    assertThat(process.awaitExit(SOON)).as(process.output()).isEqualTo(code);
    assertThat(process.output())
        .containsIgnoringCase(text)
        .doesNotContain("\tat ")
        .doesNotContain("Exception");
  }
}
