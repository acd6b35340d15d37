package io.cephcsi.driver.node;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.cephcsi.driver.testing.NodeClient;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.ProbeRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.testing.Commands;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.function.Consumer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/**
 * The process that serves a mount is stopped, as if the cluster hung: no call waits for it. When it
 * goes on, nothing is lost.
 */
class HungMountIT {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final VolumeCapability USE = TestDriver.singleWriter();

  @BeforeEach
  void needsProcesses() {
    assumeThat(NodeClient.mounter()).as("only processes can be stopped").isEqualTo("fuse");
  }

  private static void signal(NodeClient node, String signal) {
    for (ProcessHandle process : node.daemons()) {
      Commands.run(List.of("bash", "-c", "kill -" + signal + " " + process.pid()));
    }
  }

  /** A volume that is stopped under a workload, and what is asked meanwhile. */
  private static void stopped(TestDriver driver, Asked asked) throws IOException {
    try (driver;
        NodeClient node = driver.node()) {
      Volume volume = driver.create("pvc-" + UUID.randomUUID(), 64 << 20);
      node.stage(volume, USE);
      Path target = node.publish(volume, USE, "pod");
      node.publish(volume, USE, "second");
      Files.writeString(target.resolve("file"), "written");
      Commands.run(List.of("sync", "-f", target.toString()));
      signal(node, "STOP");
      try {
        assertThat(driver.identity().probe(ProbeRequest.getDefaultInstance()).getReady().getValue())
            .isTrue();
        asked.of(node, volume);
      } finally {
        signal(node, "CONT");
      }
      patiently(node, one -> one.unpublish(volume, "second"));
      patiently(node, one -> one.stage(volume, USE));
      patiently(node, one -> one.publish(volume, USE, "pod"));
      assertThat(target.resolve("file")).hasContent("written");
      assertThat(node.stats(volume, "pod").getVolumeCondition().getAbnormal()).isFalse();
      patiently(node, one -> one.unpublish(volume, "pod"));
      patiently(node, one -> one.unstage(volume));
      assertThat(node.leftovers()).isEmpty();
      Awaitility.await()
          .atMost(Duration.ofMinutes(1))
          .ignoreExceptionsInstanceOf(StatusRuntimeException.class)
          .untilAsserted(() -> driver.delete(volume.getVolumeId()));
    }
  }

  private static void patiently(NodeClient node, Consumer<NodeClient> call) {
    Awaitility.await()
        .atMost(Duration.ofMinutes(3))
        .ignoreExceptionsInstanceOf(StatusRuntimeException.class)
        .untilAsserted(() -> call.accept(node));
  }

  /** What is asked while nothing is served. */
  private interface Asked {
    void of(NodeClient node, Volume volume);
  }

  @Test
  void cephFs() throws IOException {
    stopped(
        TestDriver.cephFs(CLUSTER).instance("hung-" + UUID.randomUUID()).withCredentials().start(),
        (node, volume) -> {
          node.unpublish(volume, "second");
          assertThat(node.stats(volume, "pod").getVolumeCondition().getMessage())
              .contains("does not answer");
          assertStatus(Code.UNAVAILABLE, "does not answer", () -> node.stage(volume, USE));
          assertStatus(
              Code.UNAVAILABLE, "does not answer", () -> node.publish(volume, USE, "other"));
          // Our own question still waits there.
          assertStatus(Code.INTERNAL, "busy", () -> node.unpublish(volume, "pod"));
          assertStatus(Code.UNAVAILABLE, "does not answer", () -> node.unstage(volume));
        });
  }

  @Test
  void rbd() throws IOException {
    stopped(
        TestDriver.rbd(CLUSTER).instance("hung-" + UUID.randomUUID()).withCredentials().start(),
        (node, volume) -> {
          assertThat(node.stats(volume, "pod").getUsageCount()).isEqualTo(2);
          node.publish(volume, USE, "other");
          node.unpublish(volume, "other");
          node.unpublish(volume, "pod");
          node.unpublish(volume, "second");
        });
  }

  /** The kernel writes before it unmounts: a program waits for it, a minute at most. */
  @Test
  @EnabledIfEnvironmentVariable(named = "CEPH_CSI_TEST_CAMPAIGN", matches = "full") // 2 minutes
  void rbdIsNotUnstagedAndNotWaitedFor() throws IOException {
    stopped(
        TestDriver.rbd(CLUSTER).instance("hung-" + UUID.randomUUID()).withCredentials().start(),
        (node, volume) -> {
          node.unpublish(volume, "pod");
          node.unpublish(volume, "second");
          assertStatus(Code.DEADLINE_EXCEEDED, "did not end within", () -> node.unstage(volume));
          assertThat(node.daemons()).as("it may have something to write").hasSize(1);
        });
  }
}
