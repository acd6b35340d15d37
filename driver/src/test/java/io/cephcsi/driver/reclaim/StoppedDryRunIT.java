package io.cephcsi.driver.reclaim;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.reclaim.ReclaimResult.Outcome;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** A dry run that another call wants to end. */
class StoppedDryRunIT extends ReclaimCase {
  /** Nothing is found in it, of which the walk could tell: librbd asks every object. */
  @Test
  void aWalkOverObjectsThatAreNotThereIsStopped() throws Exception {
    // Where nobody else looks: to remove it takes many minutes.
    String namespace = "n" + UUID.randomUUID();
    ceph.rbd("namespace", "create", ceph.pool() + "/" + namespace);
    try (IoContext space = cluster.openPool(ceph.pool(), namespace)) {
      RbdPool there = new RbdPool(space);
      there.create(name, 17L << 40, options().features(Set.of(ImageFeature.LAYERING)).build());
      ReclaimPlan plan = ReclaimPlan.parse(Map.of("reclaim.dryRun", "true"));
      ReclaimTarget large = new TestTarget(ceph, there, name);
      CompletableFuture<ReclaimResult> run =
          operations.start(
              name,
              "test",
              task -> new Thread(task).start(),
              operation -> reclaimer.reclaim(large, plan, operation));
      Awaitility.await()
          .atMost(Duration.ofSeconds(30))
          .until(
              () ->
                  operations.running().stream()
                      .map(Operation::phase)
                      .anyMatch(phase -> phase.equals("dry run")));
      TimeUnit.MILLISECONDS.sleep(500); // in the midst of a piece
      assertThat(run).isNotDone();
      operations.cancelAll();
      // All of it would take minutes; a piece takes a second.
      ReclaimResult result = run.get(10, TimeUnit.SECONDS);
      assertThat(result.outcome()).isEqualTo(Outcome.DRY_RUN);
      assertThat(result.after()).isEmpty();
    }
  }
}
