package io.cephcsi.driver.profile;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.tracker.RadosTrackerStore;
import io.cephcsi.driver.tracker.ReferenceTracker;
import io.cephcsi.driver.tracker.TrackerFormatException;
import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeRequest;
import io.cephcsi.testing.Recorded;
import io.cephcsi.testing.TestCluster;
import io.grpc.StatusRuntimeException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.UUID;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import org.junit.jupiter.api.Test;

/** What the driver does, as the flight recorder sees it. */
class DriverEventsIT {
  private static final TestCluster CLUSTER = TestCluster.shared();

  private static void all(Recording recording) {
    recording.enable(Rpc.class);
    recording.enable(TrackerEvent.class);
    recording.enable(Reclaim.class);
  }

  @Test
  void callsAndReclaimsAreEvents() {
    try (TestDriver driver = TestDriver.rbd(CLUSTER).start()) {
      String id = driver.create("pvc-" + UUID.randomUUID(), 64 << 20).getVolumeId();
      List<RecordedEvent> events =
          Recorded.during(
              DriverEventsIT::all,
              () -> {
                driver
                    .reclaim()
                    .controllerReclaimSpace(
                        ControllerReclaimSpaceRequest.newBuilder()
                            .setVolumeId(id)
                            .putAllSecrets(driver.secrets())
                            .putParameters("reclaim.method", "sparsify")
                            .build());
                assertThatThrownBy(
                        () ->
                            driver
                                .controller()
                                .deleteVolume(DeleteVolumeRequest.getDefaultInstance()))
                    .isInstanceOf(StatusRuntimeException.class);
              });
      driver.delete(id);

      List<RecordedEvent> calls = Recorded.of(events, "Rpc");
      assertThat(calls)
          .extracting(e -> e.getString("method") + " " + e.getString("status"))
          .containsExactly(
              "reclaimspace.ReclaimSpaceController/ControllerReclaimSpace OK",
              "csi.v1.Controller/DeleteVolume INVALID_ARGUMENT");
      assertThat(calls).allMatch(e -> e.getLong("callId") > 0);
      assertThat(calls).allMatch(e -> !e.getString("driver").isEmpty());
      List<RecordedEvent> reclaims = Recorded.of(events, "Reclaim");
      assertThat(reclaims).hasSize(1);
      RecordedEvent reclaim = reclaims.get(0);
      assertThat(reclaim.getString("volume")).isEqualTo(id);
      assertThat(reclaim.getString("outcome")).isEqualTo("DONE");
      assertThat(reclaim.getInt("errno")).isZero();
      assertThat(reclaim.getDuration()).isPositive().isLessThan(calls.get(0).getDuration());
      assertThat(events.toString())
          .doesNotContain(CLUSTER.key(CLUSTER.rbdUser()), TestDriver.PASSPHRASE);
    }
  }

  @Test
  void changesOfTrackersAreEvents() {
    String snapshot = "snapshot-" + UUID.randomUUID();
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool(CLUSTER.pool(), "events")) {
      ReferenceTracker tracker = new ReferenceTracker(new RadosTrackerStore(io));
      List<RecordedEvent> events =
          Recorded.during(
              DriverEventsIT::all,
              () -> {
                tracker.add(snapshot, List.of(snapshot, "volume"));
                tracker.add(snapshot, List.of("volume"));
                tracker.mask(snapshot, snapshot);
                tracker.add(snapshot, List.of(snapshot));
                tracker.remove(snapshot, "volume");
                tracker.remove(snapshot, "volume");
              });
      List<RecordedEvent> changes = Recorded.of(events, "TrackerChange");
      assertThat(changes)
          .extracting(e -> e.getString("change") + " " + e.getString("result"))
          .containsExactly(
              "ADD ADDED",
              "ADD THERE",
              "MASK REMAINING",
              "ADD MASKED",
              "REMOVE LAST",
              "REMOVE MISSING");
      assertThat(changes.get(0).getInt("keys")).isEqualTo(2);
      assertThat(changes).allMatch(e -> e.getString("tracker").contains(snapshot));
      assertThat(changes).allMatch(e -> e.getInt("errno") == 0);
    }
  }

  @Test
  void aChangeThatFailsTellsTheKindOfError() {
    String snapshot = "snapshot-" + UUID.randomUUID();
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool(CLUSTER.pool(), "events")) {
      new ReferenceTracker(new RadosTrackerStore(io)).add(snapshot, List.of(snapshot));
      String object = io.objects().stream().filter(o -> o.contains(snapshot)).findAny().get();
      io.writeFull(object, "damaged".getBytes(StandardCharsets.UTF_8));
      List<RecordedEvent> events =
          Recorded.during(
              DriverEventsIT::all,
              () ->
                  assertThatThrownBy(
                          () ->
                              new ReferenceTracker(new RadosTrackerStore(io))
                                  .remove(snapshot, "volume"))
                      .isInstanceOf(TrackerFormatException.class));
      io.remove(object);
      assertThat(Recorded.of(events, "TrackerChange"))
          .extracting(e -> e.getString("change") + " " + e.getString("result"))
          .containsExactly("REMOVE TrackerFormatException");
    }
  }

  @Test
  void nothingIsRecordedThatNobodyAskedFor() {
    try (TestDriver driver = TestDriver.rbd(CLUSTER).start()) {
      assertThat(
              Recorded.during(
                  recording -> {},
                  () ->
                      driver.delete(
                          driver.create("pvc-" + UUID.randomUUID(), 64 << 20).getVolumeId())))
          .isEmpty();
    }
  }
}
