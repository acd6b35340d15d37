package io.cephcsi.driver.csiaddons;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.testing.OtherMachine;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.addons.fence.CIDR;
import io.cephcsi.proto.addons.fence.ClientDetails;
import io.cephcsi.proto.addons.fence.FenceClusterNetworkRequest;
import io.cephcsi.proto.addons.fence.FenceControllerGrpc.FenceControllerBlockingStub;
import io.cephcsi.proto.addons.fence.GetFenceClientsRequest;
import io.cephcsi.proto.addons.fence.ListClusterFenceRequest;
import io.cephcsi.proto.addons.fence.UnfenceClusterNetworkRequest;
import io.cephcsi.proto.addons.identity.Capability;
import io.cephcsi.proto.addons.identity.GetCapabilitiesRequest;
import io.cephcsi.testing.Commands;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** CSI-Addons' NetworkFence, against clients on another machine of a cluster of its own. */
@EnabledIf("io.cephcsi.testing.TestCluster#canControl")
class NetworkFenceIT {
  private static OtherMachine other;
  private static TestCluster cluster;
  private static TestDriver rbd;
  private static TestDriver cephFs;

  @TempDir Path folder;

  @BeforeAll
  static void start() {
    other = OtherMachine.up(0);
    cluster = TestCluster.start("fence", "--address", other.hostAddress());
    rbd = TestDriver.rbd(cluster).start();
    cephFs = TestDriver.cephFs(cluster).controllerOnly(false).start();
  }

  @AfterAll
  static void stop() {
    try {
      rbd.close();
      cephFs.close();
      cluster.close();
    } finally {
      other.close();
    }
  }

  @AfterEach
  void clear() {
    cluster.ceph("osd", "blocklist", "clear");
  }

  private static Map<String, String> admin() {
    return Map.of("userID", "admin", "userKey", cluster.key("admin"));
  }

  private static String otherRange() {
    return other.address() + "/32";
  }

  private static FenceClusterNetworkRequest.Builder fence(String... cidrs) {
    FenceClusterNetworkRequest.Builder request =
        FenceClusterNetworkRequest.newBuilder()
            .putParameters("clusterID", TestDriver.CLUSTER_ID)
            .putAllSecrets(admin());
    for (String cidr : cidrs) {
      request.addCidrs(CIDR.newBuilder().setCidr(cidr));
    }
    return request;
  }

  private static void unfence(FenceControllerBlockingStub fences, String... cidrs) {
    UnfenceClusterNetworkRequest.Builder request =
        UnfenceClusterNetworkRequest.newBuilder()
            .putParameters("clusterID", TestDriver.CLUSTER_ID)
            .putAllSecrets(admin());
    for (String cidr : cidrs) {
      request.addCidrs(CIDR.newBuilder().setCidr(cidr));
    }
    fences.unfenceClusterNetwork(request.build());
  }

  private static List<String> list(FenceControllerBlockingStub fences) {
    return fences
        .listClusterFence(
            ListClusterFenceRequest.newBuilder()
                .putParameters("clusterID", TestDriver.CLUSTER_ID)
                .putAllSecrets(admin())
                .build())
        .getCidrsList()
        .stream()
        .map(CIDR::getCidr)
        .toList();
  }

  private static List<String> radosThere(String... args) {
    List<String> command = other.command("rados", "-c", cluster.conf().toString(), "-p", "rbd");
    command.addAll(List.of(args));
    return command;
  }

  private static void assertRefused(
      Code code, String text, FenceClusterNetworkRequest.Builder request) {
    assertStatus(code, text, () -> rbd.fences().fenceClusterNetwork(request.build()));
    assertThat(list(rbd.fences())).isEmpty();
  }

  @Test
  void aFencedMachineWritesNoMoreAndAnUnfencedOneAgain() throws Exception {
    Path data = Files.write(folder.resolve("data"), new byte[4096]);
    Commands.run(radosThere("put", "from-there", data.toString()));
    Process writer =
        new ProcessBuilder(radosThere("bench", "150", "write", "--no-hints"))
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("writer").toFile())
            .start();
    try {
      rbd.fences().fenceClusterNetwork(fence(otherRange()).build());
      assertThat(writer.waitFor(60, TimeUnit.SECONDS)).as("the writer goes on").isTrue();
      assertThat(writer.exitValue()).isNotZero();
    } finally {
      writer.destroyForcibly();
    }
    assertThatThrownBy(() -> Commands.run(radosThere("put", "from-there", data.toString())))
        .hasMessageContaining("failed with");
    assertThat(list(rbd.fences())).containsExactly(otherRange());
    cluster.rados("-p", "rbd", "put", "from-here", data.toString());

    unfence(rbd.fences(), otherRange());
    Commands.run(radosThere("put", "from-there", data.toString()));
    assertThat(list(rbd.fences())).isEmpty();
  }

  @Test
  void aFencedMachineHasNoFileSystemAnyMore() throws Exception {
    Path mount = Files.createDirectory(folder.resolve("mount"));
    Commands.run(other.command("ceph-fuse", "-c", cluster.conf().toString(), mount.toString()));
    try {
      Files.writeString(mount.resolve("file"), "before");
      cephFs.fences().fenceClusterNetwork(fence(otherRange()).build());
      assertThatThrownBy(
              () ->
                  Commands.run(
                      List.of(
                          "timeout",
                          "120",
                          "dd",
                          "if=/dev/zero",
                          "of=" + mount.resolve("other"),
                          "bs=4096",
                          "count=1",
                          "conv=fsync")))
          .hasMessageContaining("failed with 1"); // dd's own failure; timeout's is 124
    } finally {
      Commands.run(List.of("umount", "--lazy", mount.toString()));
    }
    unfence(cephFs.fences(), otherRange());
    Commands.run(other.command("ceph-fuse", "-c", cluster.conf().toString(), mount.toString()));
    try {
      assertThat(Files.readString(mount.resolve("file"))).isEqualTo("before");
    } finally {
      Commands.run(List.of("umount", mount.toString()));
    }
  }

  @Test
  void callsMayBeRepeated() {
    rbd.fences().fenceClusterNetwork(fence("192.0.2.0/24", "fd00::/64").build());
    cephFs.fences().fenceClusterNetwork(fence("192.0.2.0/24").build());
    assertThat(list(cephFs.fences()))
        .containsExactlyInAnyOrder("192.0.2.0/24", "fd00:0:0:0:0:0:0:0/64");
    unfence(rbd.fences(), "192.0.2.0/24", "fd00::/64");
    unfence(rbd.fences(), "192.0.2.0/24", "fd00::/64");
    assertThat(list(rbd.fences())).isEmpty();
  }

  @Test
  void aPartOfAFencedRangeIsNotUnfencedAlone() {
    rbd.fences().fenceClusterNetwork(fence("192.0.2.0/24").build());
    assertStatus(
        Code.FAILED_PRECONDITION, "192.0.2.0/24", () -> unfence(rbd.fences(), "192.0.2.0/25"));
    assertThat(list(rbd.fences())).containsExactly("192.0.2.0/24");
  }

  @Test
  void aSingleClientThatIsBlocklistedIsNoFenceAndIsNotLetInAgain() {
    cluster.ceph("osd", "blocklist", "add", "192.0.2.7:0/12345", "600");
    assertThat(list(rbd.fences())).isEmpty();
    unfence(rbd.fences(), "192.0.2.0/24");
    assertThat(cluster.ceph("osd", "blocklist", "ls")).contains("192.0.2.7:0/12345");
    cluster.ceph("osd", "blocklist", "add", "192.0.2.8", "600");
    assertThat(list(rbd.fences())).containsExactly("192.0.2.8/32");
  }

  /** As {@code ceph osd blocklist add} makes it, which has no range. */
  @Test
  void aHostThatIsBlocklistedIsUnfencedByItsAddressOnly() {
    cluster.ceph("osd", "blocklist", "add", "192.0.2.8", "600");
    cluster.ceph("osd", "blocklist", "add", "[fd00::8]:0/0", "600");
    cluster.ceph("osd", "blocklist", "add", "192.0.2.9", "600");
    cluster.ceph("osd", "blocklist", "add", "192.0.2.8:0/12345", "600");
    rbd.fences().fenceClusterNetwork(fence("192.0.2.8/32").build());
    unfence(rbd.fences(), "192.0.2.0/24");
    assertThat(list(rbd.fences())).hasSize(3);
    unfence(rbd.fences(), "192.0.2.8/32", "fd00::8/128");
    assertThat(list(rbd.fences())).containsExactly("192.0.2.9/32");
    assertThat(cluster.ceph("osd", "blocklist", "ls")).contains("192.0.2.8:0/12345");
  }

  @Test
  void theDriverAndTheDaemonsAreNotFenced() {
    String own = other.hostAddress();
    assertRefused(Code.FAILED_PRECONDITION, "own address", fence("192.0.2.0/24", own + "/32"));
    assertRefused(
        Code.FAILED_PRECONDITION,
        "own address",
        fence(own.substring(0, own.lastIndexOf('.')) + ".0/24").putParameters("allowDaemons", "1"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"10.0.0.0/8", "0.0.0.0/0", "::/0", "fd00::/32"})
  void aLargeRangeIsRefused(String range) {
    assertRefused(Code.INVALID_ARGUMENT, "too large", fence("192.0.2.0/24", range));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "192.0.2.1/24", "192.0.2.0", "nonsense", "192.0.2.0/24 "})
  void nothingIsFencedWhenOneRangeIsNone(String range) {
    assertRefused(Code.INVALID_ARGUMENT, "cidrs", fence("192.0.2.0/24", range));
  }

  @Test
  void requestsThatSayTooLittleAreRefused() {
    assertRefused(Code.INVALID_ARGUMENT, "cidrs", fence());
    assertRefused(Code.INVALID_ARGUMENT, "clusterID", fence("192.0.2.0/24").clearParameters());
    assertRefused(
        Code.INVALID_ARGUMENT,
        "unknown",
        fence("192.0.2.0/24").putParameters("clusterID", "unknown"));
    assertRefused(Code.UNAUTHENTICATED, "", fence("192.0.2.0/24").clearSecrets());
    assertRefused(
        Code.INVALID_ARGUMENT,
        "allowDaemons",
        fence("192.0.2.0/24").putParameters("allowDaemons", "yes"));
  }

  @Test
  void aUserWithoutTheRightFencesNothing() {
    Map<String, String> secrets = new HashMap<>(rbd.secrets());
    assertRefused(
        Code.UNAUTHENTICATED, "", fence("192.0.2.0/24").clearSecrets().putAllSecrets(secrets));
  }

  @Test
  void theMachineSaysByWhichAddressTheClusterKnowsIt() {
    List<ClientDetails> clients =
        rbd.fences()
            .getFenceClients(
                GetFenceClientsRequest.newBuilder()
                    .putParameters("clusterID", TestDriver.CLUSTER_ID)
                    .putAllSecrets(rbd.secrets())
                    .build())
            .getClientsList();
    assertThat(clients).hasSize(1);
    assertThat(clients.get(0).getId()).isEqualTo(cluster.ceph("fsid").strip());
    assertThat(clients.get(0).getAddressesList())
        .extracting(CIDR::getCidr)
        .containsExactly(other.hostAddress() + "/32");
  }

  /** Their address there is another one than that of the driver. */
  @Test
  void aNodeWhoseVolumesAreInAnotherNetworkDoesNotTellItsOwnAddress() throws IOException {
    Path file = rbd.folder().resolve("config.json");
    String before = Files.readString(file);
    GetFenceClientsRequest request =
        GetFenceClientsRequest.newBuilder()
            .putParameters("clusterID", TestDriver.CLUSTER_ID)
            .putAllSecrets(admin())
            .build();
    Files.writeString(
        file,
        """
        [{"clusterID": "%s", "monitors": ["%s"],
          "rbd": {"netNamespaceFilePath": "/run/netns/storage"}}]
        """
            .formatted(TestDriver.CLUSTER_ID, cluster.monitors()));
    try {
      assertStatus(
          Code.FAILED_PRECONDITION,
          "/run/netns/storage",
          () -> rbd.fences().getFenceClients(request));
    } finally {
      Files.writeString(file, before);
    }
  }

  @Test
  void theCapabilitiesSayIt() {
    for (TestDriver driver : List.of(rbd, cephFs)) {
      assertThat(
              driver
                  .addonsIdentity()
                  .getCapabilities(GetCapabilitiesRequest.getDefaultInstance())
                  .getCapabilitiesList())
          .filteredOn(Capability::hasNetworkFence)
          .extracting(capability -> capability.getNetworkFence().getType())
          .containsExactlyInAnyOrder(
              Capability.NetworkFence.Type.NETWORK_FENCE,
              Capability.NetworkFence.Type.GET_CLIENTS_TO_FENCE);
    }
  }
}
