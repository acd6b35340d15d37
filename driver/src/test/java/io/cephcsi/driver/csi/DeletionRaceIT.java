package io.cephcsi.driver.csi;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.Volume;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Two drivers, which do not know each other's locks, delete and publish the same volume. */
class DeletionRaceIT extends ConformanceCase {
  private static final int ROUNDS = 60;

  @BeforeAll
  static void start() {
    start(Kind.RBD);
  }

  private static Code codeOf(Runnable call) {
    try {
      call.run();
      return Code.OK;
    } catch (StatusRuntimeException e) {
      return e.getStatus().getCode();
    }
  }

  @Test
  void aDeletionAndAPublishNeverBothSucceed() throws Exception {
    int deleted = 0;
    int published = 0;
    ExecutorService clients = Executors.newFixedThreadPool(2);
    try (TestDriver other = TestDriver.startWithCredentials(CLUSTER, driver.instanceId())) {
      for (int i = 0; i < ROUNDS; i++) {
        String id = create().getVolumeId();
        CyclicBarrier start = new CyclicBarrier(2);
        int ahead = i % 11 * 3 - 15; // milliseconds, so that each wins sometimes on any machine
        Future<Code> deletion =
            clients.submit(at(start, Math.max(0, -ahead), () -> driver.delete(id)));
        Future<Code> publication =
            clients.submit(
                at(
                    start,
                    Math.max(0, ahead),
                    () ->
                        assertThat(
                                other
                                    .controller()
                                    .controllerPublishVolume(publish(id, node()).build()))
                            .isNotNull()));
        if (deletion.get() == Code.OK) {
          assertThat(publication.get()).isIn(Code.NOT_FOUND, Code.FAILED_PRECONDITION);
          deleted++;
        } else {
          assertThat(deletion.get()).isEqualTo(Code.FAILED_PRECONDITION);
          assertThat(publication.get()).isEqualTo(Code.OK);
          published++;
          assertThat(controller().controllerUnpublishVolume(unpublish(id, node()).build()))
              .isNotNull();
          driver.delete(id);
        }
      }
    } finally {
      clients.shutdownNow();
    }
    assertThat(deleted).as("rounds that the deletion won").isPositive();
    assertThat(published).as("rounds that the publication won").isPositive();
  }

  private static Callable<Code> at(CyclicBarrier start, int aheadMillis, Runnable call) {
    return () -> {
      start.await();
      Thread.sleep(aheadMillis);
      return codeOf(call);
    };
  }

  @Test
  void aVolumeWhoseDeletionIsRefusedCanBePublishedAndOneWhoseDriverDiedCannot() {
    Volume volume = create();
    String id = volume.getVolumeId();
    String image = "rbd/" + TestDriver.image(volume);
    CLUSTER.rbd("snap", "create", image + "@by-hand", "--no-progress");
    assertStatus(Code.FAILED_PRECONDITION, "by-hand", () -> driver.delete(id));
    assertThat(controller().controllerPublishVolume(publish(id, node()).build())).isNotNull();
    assertThat(controller().controllerUnpublishVolume(unpublish(id, node()).build())).isNotNull();

    CLUSTER.rados(
        "-p",
        "rbd",
        "setomapval",
        "csi.volume." + VolumeId.parse(id).orElseThrow().uuid(),
        "csi.java.deleting",
        "2026-01-01T00:00:00Z x");
    assertStatus(
        Code.FAILED_PRECONDITION,
        "2026-01-01T00:00:00Z",
        () -> controller().controllerPublishVolume(publish(id, node()).build()));
    CLUSTER.rbd("snap", "rm", image + "@by-hand", "--no-progress");
    driver.delete(id);
  }
}
