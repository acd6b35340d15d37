package io.cephcsi.driver.node;

import static io.cephcsi.driver.testing.NodeClient.mounted;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.driver.testing.NodeClient;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.Json;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import io.cephcsi.testing.Commands;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.function.Function;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The client of a volume that is in use is blocklisted, as by a network fence: the workload's
 * writes fail, the volume's condition says so, it unwinds, and it is staged again without a reboot.
 */
class FencedNodeIT {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final Duration LONGEST = Duration.ofMinutes(2);

  @BeforeEach
  void needsOwnClients() {
    assumeThat(NodeClient.mounter()).as("a kernel has one client for all").isEqualTo("fuse");
  }

  private static JsonNode json(String text) {
    try {
      return Json.mapper().readTree(text);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private static void write(Path file, String text) {
    Commands.run(List.of("bash", "-c", "echo -n '" + text + "' >" + file + " && sync " + file));
  }

  /**
   * @param fence blocklists the client of a volume; what is to be removed from the list again
   */
  private static void fenced(TestDriver driver, String fsType, Function<Volume, String> fence)
      throws IOException {
    VolumeCapability use = mounted(fsType, Mode.SINGLE_NODE_WRITER);
    try (driver;
        NodeClient node = driver.node()) {
      Volume volume = driver.create("pvc-" + UUID.randomUUID(), 512L << 20);
      node.stage(volume, use);
      Path target = node.publish(volume, use, "pod");
      write(target.resolve("before"), "written before");
      assertThat(node.stats(volume, "pod").getVolumeCondition().getAbnormal()).isFalse();

      String client = fence.apply(volume);
      try {
        // ext4 finds out when it writes its journal for the next change.
        Awaitility.await("writes that fail, and a condition that says so")
            .atMost(LONGEST)
            .untilAsserted(
                () -> {
                  assertThatThrownBy(() -> write(target.resolve("fenced"), "lost"))
                      .isInstanceOf(RuntimeException.class);
                  assertThat(node.stats(volume, "pod").getVolumeCondition().getAbnormal()).isTrue();
                });
        System.out.println(node.stats(volume, "pod").getVolumeCondition().getMessage());
        node.unpublish(volume, "pod");
        Awaitility.await("unstaged, as kubelet repeats the call while the dead device is in use")
            .atMost(LONGEST)
            .ignoreExceptionsMatching(FencedNodeIT::isAborted)
            .untilAsserted(() -> node.unstage(volume));
        assertThat(node.leftovers()).isEmpty();
        assertThat(node.daemons()).isEmpty();
      } finally {
        CLUSTER.ceph("osd", "blocklist", "rm", client);
      }

      node.stage(volume, use);
      node.publish(volume, use, "pod");
      assertThat(target.resolve("before")).hasContent("written before");
      write(target.resolve("after"), "written after");
      assertThat(node.stats(volume, "pod").getVolumeCondition().getAbnormal()).isFalse();
      assertThat(Files.readString(target.resolve("after"))).isEqualTo("written after");
      node.unpublish(volume, "pod");
      node.unstage(volume);
      Awaitility.await()
          .atMost(LONGEST)
          .ignoreExceptionsInstanceOf(StatusRuntimeException.class)
          .untilAsserted(() -> driver.delete(volume.getVolumeId()));
    }
  }

  private static boolean isAborted(Throwable failure) {
    return failure instanceof StatusRuntimeException e
        && e.getStatus().getCode() == Status.Code.ABORTED;
  }

  @ParameterizedTest
  @ValueSource(strings = {"ext4", "xfs"})
  void rbd(String fsType) throws IOException {
    fenced(
        TestDriver.rbd(CLUSTER).instance("fenced-" + UUID.randomUUID()).withCredentials().start(),
        fsType,
        volume -> {
          String image = CLUSTER.pool() + "/" + TestDriver.image(volume);
          JsonNode watchers =
              json(CLUSTER.rbd("status", image, "--format", "json")).path("watchers");
          assertThat(watchers).hasSize(1);
          String address = watchers.get(0).path("address").asText();
          CLUSTER.ceph("osd", "blocklist", "add", address, "600");
          return address;
        });
  }

  @Test
  void cephFs() throws IOException {
    fenced(
        TestDriver.cephFs(CLUSTER)
            .instance("fenced-" + UUID.randomUUID())
            .withCredentials()
            .start(),
        "",
        volume -> {
          JsonNode sessions =
              json(CLUSTER.ceph("tell", "mds.a", "client", "ls", "--format", "json"));
          for (JsonNode session : sessions) {
            String root = session.path("client_metadata").path("root").asText();
            if (root.equals(volume.getVolumeContextOrThrow("subvolumePath"))) {
              CLUSTER.ceph("tell", "mds.a", "client", "evict", "id=" + session.path("id").asLong());
              return session.path("entity").path("addr").path("addr").asText()
                  + "/"
                  + session.path("entity").path("addr").path("nonce").asLong();
            }
          }
          throw new AssertionError("no session has " + volume.getVolumeContextMap() + sessions);
        });
  }
}
