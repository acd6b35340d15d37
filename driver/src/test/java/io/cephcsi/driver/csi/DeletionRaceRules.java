package io.cephcsi.driver.csi;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.TestDriver;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** Two drivers, which do not know each other's locks, delete and publish the same volume. */
abstract class DeletionRaceRules extends ConformanceCase {
  /** How often they do. */
  abstract int rounds();

  /**
   * By how many milliseconds one of them is put off, so that each wins sometimes on any machine: by
   * more as long as the same one wins, and by ever less around where both are equally fast.
   */
  private static final class HeadStart {
    private int ofDeletion;
    private int step = 4;
    private boolean deletionWon;

    void won(boolean deletion) {
      step = deletion == deletionWon ? Math.min(2 * step, 1000) : Math.max(step / 2, 1);
      ofDeletion += deletion ? -step : step;
      deletionWon = deletion;
    }

    int putOffDeletion() {
      return Math.max(0, -ofDeletion);
    }

    int putOffPublication() {
      return Math.max(0, ofDeletion);
    }
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
    HeadStart head = new HeadStart();
    ExecutorService clients = Executors.newFixedThreadPool(2);
    try (TestDriver other = kind.start(CLUSTER, driver.instanceId(), true)) {
      for (int i = 0; i < rounds(); i++) {
        String id = create().getVolumeId();
        CyclicBarrier start = new CyclicBarrier(2);
        Future<Code> deletion =
            clients.submit(at(start, head.putOffDeletion(), () -> driver.delete(id)));
        Future<Code> publication =
            clients.submit(
                at(
                    start,
                    head.putOffPublication(),
                    () ->
                        assertThat(
                                other
                                    .controller()
                                    .controllerPublishVolume(publish(id, node()).build()))
                            .isNotNull()));
        if (deletion.get() == Code.OK) {
          assertThat(publication.get()).isIn(Code.NOT_FOUND, Code.FAILED_PRECONDITION);
          deleted++;
          head.won(true);
        } else {
          assertThat(deletion.get()).isEqualTo(Code.FAILED_PRECONDITION);
          assertThat(publication.get()).isEqualTo(Code.OK);
          published++;
          head.won(false);
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

  private static Callable<Code> at(CyclicBarrier start, int millis, Runnable call) {
    return () -> {
      start.await();
      Thread.sleep(millis);
      return codeOf(call);
    };
  }
}
