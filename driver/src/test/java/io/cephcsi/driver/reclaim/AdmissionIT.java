package io.cephcsi.driver.reclaim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.ConnectionSettings;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.cluster.ClientFence;
import io.cephcsi.driver.metrics.DriverMetrics;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.reclaim.ReclaimResult.Outcome;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class AdmissionIT extends ReclaimCase {
  private final Admission two = new Admission(2);

  @BeforeEach
  void freeAllPlaces() {
    try (ReclaimSlots board = ReclaimSlots.find(io).orElseThrow()) {
      board
          .io()
          .remove(ReclaimSlots.OBJECT); // a process that was killed by another test may hold one
    }
  }

  /** A slot, and what it was taken from. */
  private record Held(ReclaimRun run, Admission.Slot slot) implements AutoCloseable {
    boolean isLost() {
      return slot.isLost();
    }

    @Override
    public void close() {
      try (run) {
        slot.close();
      }
    }
  }

  private Held enter(Admission admission) {
    return enter(admission, io);
  }

  private Held enter(Admission admission, IoContext image) {
    return operate(operation -> entered(admission, image, operation)).orElseThrow();
  }

  private static Optional<Held> entered(Admission admission, IoContext image, Operation operation) {
    ReclaimRun run = new ReclaimRun();
    Optional<Held> held =
        admission.enter(run, image, "test", operation).map(slot -> new Held(run, slot));
    if (held.isEmpty()) {
      run.close();
    }
    return held;
  }

  /** A client of a user that has these capabilities for OSDs and no more. */
  private static RadosCluster restricted(String osdCapabilities) {
    String user = "restricted-" + UUID.randomUUID();
    String key =
        ceph.ceph(
            "auth",
            "get-or-create-key",
            "client." + user,
            "mon",
            "profile rbd",
            "osd",
            osdCapabilities);
    return RadosCluster.connect(
        ConnectionSettings.user(user).monitors(ceph.monitors()).key(key.strip()).build());
  }

  private static String namespace() {
    String namespace = "n" + UUID.randomUUID();
    ceph.rbd("namespace", "create", ceph.otherPool() + "/" + namespace);
    return namespace;
  }

  private void assertWaits(Admission admission, IoContext image) throws Exception {
    CompletableFuture<Optional<Held>> waiting =
        operations.start(
            "waits",
            "test",
            task -> new Thread(task).start(),
            operation -> entered(admission, image, operation));
    Awaitility.await()
        .until(
            () ->
                operations.running().stream()
                    .map(Operation::phase)
                    .anyMatch(phase -> phase.contains("slots among the reclaims of the cluster")));
    operations.cancelAll();
    assertThat(waiting.get(10, TimeUnit.SECONDS)).isEmpty();
  }

  @Test
  void allPoolsAndNamespacesOfTheClusterShareThePlaces() throws Exception {
    Admission one = new Admission(1);
    try (IoContext other = cluster.openPool(ceph.otherPool());
        IoContext space = cluster.openPool(ceph.otherPool(), namespace())) {
      try (Held held = enter(one)) {
        assertWaits(one, other);
        assertWaits(one, space);
        assertThat(held.isLost()).isFalse();
      }
      try (Held held = enter(one, space)) {
        assertWaits(one, io);
        assertThat(held.isLost()).isFalse();
      }
    }
  }

  /** As when a driver was killed during a reclaim, and the next process ended its connection. */
  @Test
  void theSlotOfAClientThatThisProcessHasShutOutIsFreeAtOnce() throws Exception {
    Admission one = new Admission(1);
    try (RadosCluster dead = restricted("profile rbd");
        IoContext theirs = dead.openPool(ceph.pool());
        ReclaimSlots slots = ReclaimSlots.find(theirs).orElseThrow()) {
      assertThat(slots.tryTake(0, "cookie", "test", Duration.ofMinutes(10))).isPresent();
      assertWaits(one, io);
      new ClientFence(cluster).blocklist(dead.addresses(), Duration.ofMinutes(10));
      try (Held taken = enter(one)) {
        assertThat(taken.isLost()).isFalse();
        try (ReclaimSlots ours = ReclaimSlots.find(io).orElseThrow()) {
          assertThat(ours.freeDead(1)).as("the slot of a client that lives").isFalse();
        }
        assertWaits(one, io);
      }
    }
  }

  @Test
  void aUserDeniedTheFirstPoolMeetsOthersInTheFirstAllowedPool() throws Exception {
    Admission one = new Admission(1);
    String onlyOther = "profile rbd pool=" + ceph.otherPool();
    try (RadosCluster first = restricted(onlyOther);
        RadosCluster second = restricted(onlyOther);
        IoContext firstIo = first.openPool(ceph.otherPool());
        IoContext secondIo = second.openPool(ceph.otherPool());
        Held everybodys = enter(one);
        Held theirs = enter(one, firstIo)) {
      assertWaits(one, secondIo);
      assertThat(everybodys.isLost() || theirs.isLost()).isFalse();
      assertThat(firstIo.objects()).contains(ReclaimSlots.OBJECT);
    }
  }

  @Test
  void whoMayUseOneNamespaceOnlyHasItsPlacesThere() throws Exception {
    Admission one = new Admission(1);
    String namespace = namespace();
    String onlyThere = "profile rbd pool=" + ceph.otherPool() + " namespace=" + namespace;
    try (RadosCluster client = restricted(onlyThere);
        IoContext there = client.openPool(ceph.otherPool(), namespace);
        Held held = enter(one, there)) {
      assertWaits(one, there);
      assertThat(held.isLost()).isFalse();
      assertThat(there.objects()).contains(ReclaimSlots.OBJECT);
    }
  }

  @Test
  void whoMayWriteNowhereIsRefused() {
    try (RadosCluster client = restricted("allow r");
        IoContext there = client.openPool(ceph.otherPool())) {
      assertThatThrownBy(() -> ReclaimSlots.find(there)).isInstanceOf(CephException.Denied.class);
    }
  }

  @Test
  void thePlaceOfADriverThatDiedIsFreeWhenItRunsOut() throws Exception {
    try (ReclaimSlots board = ReclaimSlots.find(io).orElseThrow()) {
      // Nobody renews this one, as nobody does for a process that is gone.
      assertThat(board.tryTake(0, "dead", "test", Duration.ofSeconds(3))).isPresent();
    }
    long start = System.nanoTime();
    try (Held place = enter(new Admission(1))) {
      assertThat(System.nanoTime() - start).isGreaterThan(TimeUnit.MILLISECONDS.toNanos(1500));
      assertThat(place.isLost()).isFalse();
    }
  }

  @Test
  void oneMoreThanThereArePlacesWaitsUntilOneIsFree() throws Exception {
    Held first = enter(two);
    CompletableFuture<Optional<Held>> third;
    try (Held second = enter(two)) {
      third =
          operations.start(
              "third",
              "test",
              task -> new Thread(task).start(),
              operation -> entered(two, io, operation));
      Awaitility.await()
          .until(
              () ->
                  operations.running().stream()
                      .map(Operation::phase)
                      .anyMatch(phase -> phase.contains("one of 2 slots")));
      assertThat(third).isNotDone();
      first.close();
      try (Held place = third.get(10, TimeUnit.SECONDS).orElseThrow()) {
        assertThat(place.isLost()).isFalse();
      }
      assertThat(second.isLost()).isFalse();
    }
  }

  @Test
  void theReclaimsOfARunLookForTheSlotsOnce() {
    try (ReclaimRun run = new ReclaimRun()) {
      ReclaimSlots first = run.slots(io).orElseThrow();
      assertThat(run.slots(io)).containsSame(first);
      assertThat(run.health(cluster)).isSameAs(run.health(cluster));
      run.forget(first);
      ReclaimSlots second = run.slots(io).orElseThrow();
      assertThat(second).isNotSameAs(first);
      run.forget(first); // another reclaim that failed with them, a moment later
      assertThat(run.slots(io)).containsSame(second);
      assertThat(first.tryTake(0, "cookie", "test", Duration.ofSeconds(3)))
          .as("those that a reclaim still uses")
          .isPresent();
    }
  }

  @Test
  void whoWaitsCanBeCancelled() throws Exception {
    try (Held first = enter(two);
        Held second = enter(two)) {
      CompletableFuture<Optional<Held>> third =
          operations.start(
              "third",
              "test",
              task -> new Thread(task).start(),
              operation -> entered(two, io, operation));
      operations.cancelAll();
      assertThat(third.get(10, TimeUnit.SECONDS)).isEmpty();
      assertThat(first.isLost() || second.isLost()).isFalse();
    }
  }

  @Test
  void aPlaceIsRenewedBeforeItRunsOut() {
    Admission brief = new Admission(1, Duration.ofSeconds(6));
    try (Held place = enter(brief)) {
      Awaitility.await()
          .during(Duration.ofSeconds(10))
          .atMost(Duration.ofSeconds(40))
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
    freeAllPlaces();
    ReclaimResult result = slow.get(30, TimeUnit.SECONDS);
    assertThat(result.outcome()).isEqualTo(Outcome.GAVE_WAY);
    assertThat(result.reason()).contains("slot");
  }
}
