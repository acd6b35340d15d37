package io.cephcsi.driver.crash;

import static io.cephcsi.driver.testing.Statuses.untilNotAborted;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.cephcsi.driver.testing.SubvolumeState;
import io.cephcsi.driver.testing.TestGroupSnapshots;
import io.cephcsi.proto.csi.v1.DeleteVolumeGroupSnapshotRequest;
import io.cephcsi.proto.csi.v1.GroupControllerGrpc;
import io.cephcsi.proto.csi.v1.GroupControllerGrpc.GroupControllerBlockingStub;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeGroupSnapshot;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/**
 * The driver's process is halted at a write of a call on a snapshot of several CephFS volumes, also
 * while these are quiesced; then the call is repeated, and everything deleted. Where the cluster
 * can quiesce. {@code CEPH_CSI_TEST_CAMPAIGN=full} tries every write, before and after it.
 */
class CephFsGroupCrashIT extends CephFsCrashCase {
  private static final int SAMPLE = 6;
  private static final int MAX_WRITES = 60;

  /** Two volumes with a file each. */
  private record Scene(String name, Volume a, Volume b) {
    static Scene set() {
      String name = "pvc-" + UUID.randomUUID();
      Scene scene =
          new Scene(
              name, driver.create(name + "-a", 16 * MIB), driver.create(name + "-b", 16 * MIB));
      scene.write("before");
      return scene;
    }

    void write(String text) {
      STATE.write(path(a) + "/file", text);
      STATE.write(path(b) + "/file", text);
    }

    private static String path(Volume volume) {
      return volume.getVolumeContextMap().get("subvolumePath");
    }

    VolumeGroupSnapshot take(GroupControllerBlockingStub groups) {
      return groups
          .createVolumeGroupSnapshot(
              new TestGroupSnapshots(driver)
                  .request(name, a.getVolumeId(), b.getVolumeId())
                  .build())
          .getGroupSnapshot();
    }

    Set<String> volumeIds() {
      return Set.of(a.getVolumeId(), b.getVolumeId());
    }

    void deleteAll() {
      driver.delete(a.getVolumeId());
      driver.delete(b.getVolumeId());
    }
  }

  /** A call under test. */
  private interface Call {
    Object send(Scene scene, GroupControllerBlockingStub groups);
  }

  private static GroupControllerBlockingStub groups() {
    return new TestGroupSnapshots(driver).stub();
  }

  private static void survives(Consumer<Scene> prepare, Call call, Consumer<Scene> repeat)
      throws InterruptedException {
    assumeTrue(STATE.release() >= SubvolumeState.FIRST_TO_QUIESCE, "the cluster cannot quiesce");
    for (String when : FULL ? new String[] {"before", "after"} : new String[] {"after"}) {
      int step = FULL ? 1 : SAMPLE;
      boolean halted = true;
      int write = 1;
      for (; halted && write < MAX_WRITES; write += step) {
        halted = attempt(when + "," + write + ",calls", prepare, call, repeat);
      }
      assertThat(halted).as("the call ended before %d writes", MAX_WRITES).isFalse();
      System.out.printf("halted %s writes up to %d%n", when, write - 1 - step);
    }
  }

  private static boolean attempt(
      String fault, Consumer<Scene> prepare, Call call, Consumer<Scene> repeat)
      throws InterruptedException {
    Scene scene = Scene.set();
    prepare.accept(scene);
    boolean halted;
    try (FaultyDriver faulty = FaultyDriver.start("cephfs", CLUSTER, fault)) {
      boolean answered = true;
      try {
        call.send(scene, GroupControllerGrpc.newBlockingStub(faulty.channel()).withWaitForReady());
      } catch (StatusRuntimeException e) {
        assertThat(e.getStatus().getCode()).as(fault).isEqualTo(Code.UNAVAILABLE);
        answered = false;
      }
      halted = faulty.halted(FaultyDriver.ending(answered));
      assertThat(halted || answered).as(fault).isTrue();
    }
    repeat.accept(scene);
    scene.deleteAll();
    assertThat(STATE.leftovers()).as(fault).isEmpty();
    return halted;
  }

  /** The set of the dead driver, or its lock, may still be there for a while. */
  private static <T> T inTime(Supplier<T> call) {
    return untilNotAborted(Duration.ofMinutes(2), call);
  }

  private static String shown(Snapshot snapshot, Volume source) {
    String id = snapshot.getSnapshotId();
    String name = "csi-snap-" + id.substring(id.length() - 36);
    String root = "/volumes/csi/" + source.getVolumeContextMap().get("subvolumeName");
    return STATE.read(
        STATE.mounted(mount -> mount.snapshots(root).contents(name).get(0)) + "/file");
  }

  @Test
  void createVolumeGroupSnapshot() throws InterruptedException {
    survives(
        scene -> {},
        (scene, groups) -> scene.take(groups),
        scene -> {
          VolumeGroupSnapshot taken = inTime(() -> scene.take(groups()));
          assertThat(scene.take(groups())).isEqualTo(taken);
          scene.write("after"); // nobody is quiesced any more
          assertThat(taken.getSnapshotsList())
              .extracting(Snapshot::getSourceVolumeId)
              .containsExactlyInAnyOrderElementsOf(scene.volumeIds());
          for (Snapshot snapshot : taken.getSnapshotsList()) {
            Volume source =
                snapshot.getSourceVolumeId().equals(scene.a().getVolumeId())
                    ? scene.a()
                    : scene.b();
            assertThat(shown(snapshot, source)).isEqualTo("before");
          }
          new TestGroupSnapshots(driver).delete(taken);
        });
  }

  @Test
  void deleteVolumeGroupSnapshot() throws InterruptedException {
    Map<String, DeleteVolumeGroupSnapshotRequest> deletions = new HashMap<>();
    survives(
        scene -> {
          VolumeGroupSnapshot taken = scene.take(groups());
          deletions.put(
              scene.name(),
              new TestGroupSnapshots(driver)
                  .deleteRequest(taken.getGroupSnapshotId(), TestGroupSnapshots.ids(taken)));
        },
        (scene, groups) -> groups.deleteVolumeGroupSnapshot(deletions.get(scene.name())),
        scene -> {
          DeleteVolumeGroupSnapshotRequest deletion = deletions.get(scene.name());
          assertThat(inTime(() -> groups().deleteVolumeGroupSnapshot(deletion))).isNotNull();
          assertThat(groups().deleteVolumeGroupSnapshot(deletion)).isNotNull();
        });
  }
}
