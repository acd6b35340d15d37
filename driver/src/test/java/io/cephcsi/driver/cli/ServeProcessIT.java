package io.cephcsi.driver.cli;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.ServedProcess;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.addons.identity.GetCapabilitiesRequest;
import io.cephcsi.proto.addons.identity.GetIdentityRequest;
import io.cephcsi.proto.csi.v1.ControllerGrpc;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.GetPluginCapabilitiesRequest;
import io.cephcsi.proto.csi.v1.IdentityGrpc;
import io.cephcsi.proto.csi.v1.NodeGetInfoRequest;
import io.cephcsi.proto.csi.v1.NodeGrpc;
import io.cephcsi.proto.csi.v1.ProbeRequest;
import io.grpc.ManagedChannel;
import io.grpc.Status.Code;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.reflection.v1.ServerReflectionGrpc;
import io.grpc.reflection.v1.ServerReflectionRequest;
import io.grpc.reflection.v1.ServerReflectionResponse;
import io.grpc.reflection.v1.ServiceResponse;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The program as it is delivered, as a process. */
class ServeProcessIT extends ServedCase {
  private static final String MALFORMED_KEY = "AQDYxsBgAAAAABAAtooshort==";
  private static final String WRONG_KEY = "AQDYxsBgAAAAABAAZm9vYmFyYmF6cXV4Zm9vYg==";

  // Command line

  @ParameterizedTest
  @ValueSource(strings = {"--", "-"})
  void theArgumentsOfADeploymentOfCephCsiWorkUnchanged(String dashes) {
    Path addons = folder.resolve("csi-addons.sock");
    ServedProcess process =
        start(
            Stream.of(
                    "nodeid=n",
                    "type=rbd",
                    "controllerserver=true",
                    "endpoint=unix://" + socket,
                    "csi-addons-endpoint=unix://" + addons,
                    "v=5",
                    "drivername=rbd.csi.example.com",
                    "pidlimit=-1",
                    "rbdhardmaxclonedepth=8",
                    "rbdsoftmaxclonedepth=4",
                    "enableprofiling=false",
                    "setmetadata=true",
                    "logslowopinterval=30s",
                    "kms-config=/etc/kms.json",
                    "enable-fencing=true",
                    "kernelmountoptions=recover_session=clean",
                    "fusemountoptions=",
                    "enable-read-affinity=true",
                    "crush-location-labels=topology.kubernetes.io/zone,kubernetes.io/hostname",
                    "instanceid=")
                .map(option -> dashes + option)
                .toArray(String[]::new));
    ManagedChannel csi = process.awaitServing(socket);
    assertThat(nameOf(csi)).isEqualTo("rbd.csi.example.com");
    assertThat(
            IdentityGrpc.newBlockingStub(csi)
                .getPluginCapabilities(GetPluginCapabilitiesRequest.getDefaultInstance())
                .getCapabilitiesList())
        .isNotEmpty();
    assertStatus(
        Code.UNIMPLEMENTED,
        () -> NodeGrpc.newBlockingStub(csi).nodeGetInfo(NodeGetInfoRequest.getDefaultInstance()));
    assertThat(process.output().lines().filter(line -> line.contains("WARN")))
        .filteredOn(line -> line.contains("options of ceph-csi"))
        .hasSize(1)
        .first()
        .asString()
        .endsWith(": --enable-fencing");
    ManagedChannel other = process.awaitServing(addons);
    var identity = io.cephcsi.proto.addons.identity.IdentityGrpc.newBlockingStub(other);
    assertThat(identity.getIdentity(GetIdentityRequest.getDefaultInstance()).getName())
        .isEqualTo("rbd.csi.example.com");
    assertThat(
            identity
                .getCapabilities(GetCapabilitiesRequest.getDefaultInstance())
                .getCapabilitiesList())
        .isNotEmpty();
  }

  @Test
  void oneProcessServesBothKindsByAConfigurationFile() throws IOException {
    Path rbd = folder.resolve("rbd.sock");
    Path cephFs = folder.resolve("cephfs.sock");
    Path config =
        Files.writeString(
            folder.resolve("driver.yaml"),
            """
            clustersFile: %s
            drivers:
              - {type: rbd, endpoint: "unix://%s", nodeId: node-7, node: true}
              - {type: cephfs, endpoint: "unix://%s", name: files.example.com}
            """
                .formatted(TestDriver.clustersFile(CLUSTER, folder), rbd, cephFs));
    ServedProcess process = start("serve", "--config", config.toString());
    ManagedChannel blocks = process.awaitReady(rbd);
    ManagedChannel files = process.awaitReady(cephFs);
    assertThat(nameOf(blocks)).isEqualTo("rbd.csi.ceph.com");
    assertThat(nameOf(files)).isEqualTo("files.example.com");
    assertThat(
            NodeGrpc.newBlockingStub(blocks)
                .nodeGetInfo(NodeGetInfoRequest.getDefaultInstance())
                .getNodeId())
        .isEqualTo("node-7");
    createAndDelete(blocks);
    process.terminate();
    process.awaitExit(SOON);
    assertThat(rbd).doesNotExist();
    assertThat(cephFs).doesNotExist();
  }

  @Test
  void oneProcessServesTwoControllersOfOneKind() throws IOException {
    Path other = folder.resolve("other.sock");
    Path config =
        Files.writeString(
            folder.resolve("driver.yaml"),
            """
            clustersFile: %s
            drivers:
              - {type: rbd, endpoint: "unix://%s"}
              - {type: rbd, endpoint: "unix://%s", name: other.example.com, instanceId: other}
            """
                .formatted(TestDriver.clustersFile(CLUSTER, folder), socket, other));
    ServedProcess process = start("serve", "--config", config.toString());
    for (Path each : new Path[] {socket, other}) {
      createAndDelete(process.awaitReady(each));
    }
    process.terminate();
    assertThat(process.awaitExit(SOON)).as(process.output()).isZero();
  }

  @Test
  void aWrongCommandLineIsExitCode2() {
    assertExit(2, "no-such-option", "--type=rbd", "--no-such-option=1");
    assertExit(2, "type", "serve");
    assertExit(2, "nfs", "--type=nfs");
    assertExit(2, "secretfile", "--type=cephfs", "--kernelmountoptions=noatime,secretfile=/x");
    assertExit(2, "tcp://0.0.0.0:1", "--type=rbd", "--endpoint=tcp://0.0.0.0:1");
    assertExit(2, "missing.yaml", "serve", "--config=" + folder.resolve("missing.yaml"));
    assertExit(2, "nodeid", "--type=rbd", "--nodeserver=true", "--endpoint=" + socket);
  }

  // What can be seen from outside

  @Test
  void noKeyIsPrintedAtAnyVerbosity() throws IOException {
    ServedProcess process = startRbd("--v=5");
    ManagedChannel channel = process.awaitReady(socket);
    createAndDelete(channel);
    var controller = ControllerGrpc.newBlockingStub(channel);
    assertStatus(Code.UNAUTHENTICATED, () -> controller.createVolume(createRequest(WRONG_KEY)));
    assertStatus(
        Code.UNAUTHENTICATED,
        () ->
            controller.createVolume(
                createRequest().toBuilder().putSecrets("userID", "nobody").build()));
    assertStatus(Code.UNAUTHENTICATED, () -> controller.createVolume(createRequest(MALFORMED_KEY)));
    assertStatus(
        Code.INVALID_ARGUMENT,
        () ->
            controller.createVolume(
                createRequest().toBuilder().putSecrets("more", WRONG_KEY.repeat(200)).build()));
    process.terminate();
    process.awaitExit(SOON);
    assertThat(process.output())
        .contains("CreateVolume", "userKey", "***stripped***") // the requests are shown
        .doesNotContain(CLUSTER.key(CLUSTER.rbdUser()))
        .doesNotContain(WRONG_KEY)
        .doesNotContain(MALFORMED_KEY);
  }

  @Test
  void metricsCountCallsByDriverMethodAndCode() throws IOException {
    int port = freePort();
    ServedProcess process = startRbd("--metricsport=" + port);
    ManagedChannel channel = process.awaitReady(socket);
    assertStatus(
        Code.INVALID_ARGUMENT,
        () ->
            ControllerGrpc.newBlockingStub(channel)
                .createVolume(CreateVolumeRequest.getDefaultInstance()));
    Awaitility.await()
        .untilAsserted(
            () ->
                assertThat(ServedProcess.metrics(port))
                    .containsPattern(
                        "csi_plugin_operations_seconds_count\\{driver_name=\"rbd.csi.ceph.com\","
                            + "grpc_status_code=\"INVALID_ARGUMENT\","
                            + "method_name=\"csi.v1.Controller/CreateVolume\"} 1")
                    .contains("grpc_status_code=\"OK\",method_name=\"csi.v1.Identity/Probe\"")
                    .contains("ceph_csi_running_operations 0.0"));
  }

  @Test
  void callsThatTakeLongAreLoggedAgainAndAgainAlsoOnceTheirCallerIsGone() throws IOException {
    ServedProcess process = startRbd("--logslowopinterval=500ms");
    ManagedChannel channel = process.awaitReady(socket);
    CreateVolumeRequest request =
        createRequest().toBuilder()
            .putAllParameters(Map.of("clusterID", "nobody-there", "pool", "none"))
            .build();
    assertStatus(
        Code.DEADLINE_EXCEEDED,
        () ->
            ControllerGrpc.newBlockingStub(channel)
                .withDeadlineAfter(700, TimeUnit.MILLISECONDS)
                .createVolume(request));
    Awaitility.await()
        .atMost(SOON)
        .untilAsserted(
            () ->
                assertThat(process.output().lines())
                    .filteredOn(line -> line.contains("slow call: CreateVolume of"))
                    .hasSizeGreaterThan(2)
                    .allMatch(line -> line.contains("WARN") && line.contains(request.getName())));
  }

  /** No volume could be mounted on a node where another process has Prometheus' port. */
  @Test
  void aMetricsPortInUseIsServedOnceItIsFree() throws IOException {
    ServedProcess process;
    int port;
    try (ServerSocket taken = new ServerSocket(0)) {
      port = taken.getLocalPort();
      process = startRbd("--metricsport=" + port);
      createAndDelete(process.awaitReady(socket));
      assertThat(process.output().lines())
          .anyMatch(line -> line.contains("WARN") && line.contains("port " + port));
    }
    Awaitility.await()
        .atMost(SOON)
        .untilAsserted(
            () ->
                assertThat(ServedProcess.metrics(port))
                    .contains(
                        "grpc_status_code=\"OK\",method_name=\"csi.v1.Controller/CreateVolume\""));
    process.terminate();
    assertThat(process.awaitExit(SOON)).as(process.output()).isZero();
  }

  /** Metrics are all that the liveness container does. */
  @Test
  void aMetricsPortInUseEndsTheLivenessContainer() throws IOException {
    try (ServerSocket taken = new ServerSocket(0)) {
      assertExit(
          1,
          "port",
          "--type=liveness",
          "--endpoint=unix://" + socket,
          "--metricsport=" + taken.getLocalPort());
      assertThat(socket).doesNotExist();
    }
  }

  @Test
  void theLivenessContainerShowsWhetherTheDriverIsReady() throws IOException {
    int port = freePort();
    ServedProcess liveness =
        start(
            "--type=liveness",
            "--endpoint=unix://" + socket,
            "--metricsport=" + port,
            "--metricsip=127.0.0.1",
            "--metricspath=/metrics",
            "--polltime=1s",
            "--timeout=3s");
    assertLiveness(port, "0.0");
    ServedProcess driver = startRbd();
    driver.awaitReady(socket);
    assertLiveness(port, "1.0");
    driver.kill();
    assertLiveness(port, "0.0");
    startRbd().awaitReady(socket);
    assertLiveness(port, "1.0");
    liveness.terminate();
    assertThat(liveness.awaitExit(Duration.ofSeconds(10))).isZero();
  }

  private static void assertLiveness(int port, String value) {
    Awaitility.await()
        .atMost(SOON)
        .untilAsserted(
            () -> assertThat(ServedProcess.metrics(port)).contains("csi_liveness " + value));
  }

  @Test
  void aDriverWithoutClustersAnswersAndIsNotReady() {
    ManagedChannel channel =
        start(
                "--type=rbd",
                "--endpoint=unix://" + socket,
                "--clusters-file=" + folder.resolve("missing.json"))
            .awaitServing(socket);
    assertThat(
            IdentityGrpc.newBlockingStub(channel)
                .probe(ProbeRequest.getDefaultInstance())
                .getReady()
                .getValue())
        .isFalse();
    assertStatus(
        Code.UNAVAILABLE,
        "missing.json",
        () -> ControllerGrpc.newBlockingStub(channel).createVolume(createRequest()));
  }

  @Test
  void healthAndReflectionAnswer() throws IOException {
    ManagedChannel channel = startRbd().awaitReady(socket);
    assertThat(
            HealthGrpc.newBlockingStub(channel)
                .check(HealthCheckRequest.getDefaultInstance())
                .getStatus())
        .isEqualTo(ServingStatus.SERVING);
    CompletableFuture<ServerReflectionResponse> answer = new CompletableFuture<>();
    StreamObserver<ServerReflectionRequest> requests =
        ServerReflectionGrpc.newStub(channel)
            .serverReflectionInfo(
                new StreamObserver<>() {
                  @Override
                  public void onNext(ServerReflectionResponse response) {
                    answer.complete(response);
                  }

                  @Override
                  public void onError(Throwable failure) {
                    answer.completeExceptionally(failure);
                  }

                  @Override
                  public void onCompleted() {}
                });
    requests.onNext(ServerReflectionRequest.newBuilder().setListServices("").build());
    assertThat(
            answer
                .orTimeout(30, TimeUnit.SECONDS)
                .join()
                .getListServicesResponse()
                .getServiceList()
                .stream()
                .map(ServiceResponse::getName))
        .contains(
            "csi.v1.Identity",
            "csi.v1.Controller",
            "identity.Identity",
            "reclaimspace.ReclaimSpaceController",
            "grpc.health.v1.Health");
    requests.onCompleted();
  }
}
