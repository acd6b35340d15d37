package io.cephcsi.driver.csi;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.ProcessState;
import io.cephcsi.testing.TestCluster;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.awaitility.core.ThrowingRunnable;
import org.junit.jupiter.api.Test;

/** A thousand calls: what they made is gone, and so is what they held. */
class NothingIsLeftIT {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final long MIB = 1L << 20;
  private static final int VOLUMES = 250; // four calls each
  private static final int CLIENTS = 4;

  /**
   * What a connection that is closed holds is gone by then, and so are other tests' connections.
   */
  private static final Duration SETTLED = Duration.ofMinutes(1);

  @Test
  void aThousandCallsLeaveNoImageNoJournalNoWatcherAndNoConnection() throws Exception {
    String instance = "leak-" + UUID.randomUUID();
    int sockets = ProcessState.sockets();
    int threads = ProcessState.cephThreads();
    try (TestDriver driver = TestDriver.rbd(CLUSTER).instance(instance).start()) {
      List<String> images = new ArrayList<>();
      images.add(lifeOfAVolume(driver));
      int connected = ProcessState.sockets();
      int descriptors = ProcessState.descriptors();
      ExecutorService clients = Executors.newFixedThreadPool(CLIENTS);
      List<Future<String>> lives =
          IntStream.range(0, VOLUMES)
              .mapToObj(i -> clients.submit(() -> lifeOfAVolume(driver)))
              .toList();
      for (Future<String> life : lives) {
        images.add(life.get());
      }
      clients.shutdown();
      assertThat(CLUSTER.rados("-p", "rbd", "listomapkeys", "csi.volumes." + instance)).isBlank();
      eventually(
          () -> assertThat(CLUSTER.rbd("trash", "ls", "rbd")).doesNotContain(images),
          Duration.ofMinutes(10));
      // One connection serves all calls; librados may hold a session or two more to the cluster.
      eventually(
          () -> {
            assertThat(ProcessState.sockets()).isLessThanOrEqualTo(connected + 6);
            assertThat(ProcessState.descriptors()).isLessThanOrEqualTo(descriptors + 12);
          },
          SETTLED);
    }
    eventually(
        () -> {
          assertThat(ProcessState.sockets()).isLessThanOrEqualTo(sockets);
          assertThat(ProcessState.cephThreads()).isLessThanOrEqualTo(threads);
        },
        SETTLED);
  }

  private static void eventually(ThrowingRunnable assertions, Duration time) {
    Awaitility.await().atMost(time).untilAsserted(assertions);
  }

  /** The name of the volume's image. */
  @SuppressWarnings("CheckReturnValue")
  private static String lifeOfAVolume(TestDriver driver) {
    Volume volume = driver.create("pvc-" + UUID.randomUUID(), 16 * MIB);
    driver.expand(volume.getVolumeId(), 32 * MIB);
    assertThat(
            driver
                .reclaim()
                .controllerReclaimSpace(
                    ControllerReclaimSpaceRequest.newBuilder()
                        .setVolumeId(volume.getVolumeId())
                        .putAllSecrets(driver.secrets())
                        .build())
                .hasPostUsage())
        .isTrue();
    driver.delete(volume.getVolumeId());
    return TestDriver.image(volume);
  }
}
