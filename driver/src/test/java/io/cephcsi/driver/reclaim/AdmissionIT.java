package io.cephcsi.driver.reclaim;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.metrics.DriverMetrics;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.reclaim.ReclaimResult.Outcome;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class AdmissionIT extends ReclaimCase {
  private final Admission two = new Admission(2);

  @BeforeEach
  void freeAllPlaces() {
    if (io.objects().contains(Admission.OBJECT)) {
      io.remove(Admission.OBJECT); // a process that was killed by another test may hold one
    }
  }

  private Admission.Place enter(Admission admission) {
    return operate(operation -> admission.enter(io, "test", operation)).orElseThrow();
  }

  @Test
  void oneMoreThanThereArePlacesWaitsUntilOneIsFree() throws Exception {
    Admission.Place first = enter(two);
    CompletableFuture<Optional<Admission.Place>> third;
    try (Admission.Place second = enter(two)) {
      third =
          operations.start(
              "third",
              "test",
              task -> new Thread(task).start(),
              operation -> two.enter(io, "test", operation));
      Awaitility.await()
          .until(
              () ->
                  operations.running().stream()
                      .map(Operation::phase)
                      .anyMatch(phase -> phase.contains("one of 2 places")));
      assertThat(third).isNotDone();
      first.close();
      try (Admission.Place place = third.get(10, TimeUnit.SECONDS).orElseThrow()) {
        assertThat(place.isLost()).isFalse();
      }
      assertThat(second.isLost()).isFalse();
    }
  }

  @Test
  void whoWaitsCanBeCancelled() throws Exception {
    try (Admission.Place first = enter(two);
        Admission.Place second = enter(two)) {
      CompletableFuture<Optional<Admission.Place>> third =
          operations.start(
              "third",
              "test",
              task -> new Thread(task).start(),
              operation -> two.enter(io, "test", operation));
      operations.cancelAll();
      assertThat(third.get(10, TimeUnit.SECONDS)).isEmpty();
      assertThat(first.isLost() || second.isLost()).isFalse();
    }
  }

  @Test
  void aPlaceIsRenewedBeforeItRunsOut() {
    Admission brief = new Admission(1, Duration.ofSeconds(2));
    try (Admission.Place place = enter(brief)) {
      Awaitility.await()
          .during(Duration.ofSeconds(4))
          .atMost(Duration.ofSeconds(10))
          .until(() -> !place.isLost());
    }
  }

  @Test
  void aReclaimThatLosesItsPlaceEnds() throws Exception {
    pool.create(name, 256L * MIB, options().build());
    try (RbdImage image = open()) {
      for (int i = 0; i < 64; i++) {
        image.write(4L * i * MIB, filled(MIB, 0));
      }
    }
    SpaceReclaimer bounded =
        new SpaceReclaimer(new DriverMetrics(), new Admission(1, Duration.ofSeconds(2)));
    ReclaimPlan plan = ReclaimPlan.parse(Map.of("reclaim.maxBytesPerSecond", "16777216"));
    CompletableFuture<ReclaimResult> slow =
        CompletableFuture.supplyAsync(
            () -> operate(operation -> bounded.reclaim(target(), plan, operation)));
    Awaitility.await()
        .until(
            () ->
                operations.running().stream()
                    .anyMatch(o -> o.phase().equals("sparsify") && o.percent() > 0));
    io.remove(Admission.OBJECT);
    ReclaimResult result = slow.get(30, TimeUnit.SECONDS);
    assertThat(result.outcome()).isEqualTo(Outcome.GAVE_WAY);
    assertThat(result.reason()).contains("place");
  }
}
