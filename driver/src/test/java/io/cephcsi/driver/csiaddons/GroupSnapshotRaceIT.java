package io.cephcsi.driver.csiaddons;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static io.cephcsi.driver.testing.TestGroupSnapshots.ids;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.TestGroupSnapshots;
import io.cephcsi.driver.testing.TestGroups;
import io.cephcsi.proto.addons.volumegroup.VolumeGroup;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.VolumeGroupSnapshot;
import io.grpc.Status.Code;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Two calls at once, one of which takes a snapshot of several volumes, in one driver and in two. A
 * snapshot that was answered is whole, and of one that was refused nothing is left.
 */
class GroupSnapshotRaceIT extends GroupRaceCase {
  private static final int ROUNDS = "full".equals(System.getenv("CEPH_CSI_TEST_CAMPAIGN")) ? 16 : 4;

  private TestGroupSnapshots first = new TestGroupSnapshots(driver);
  private TestGroupSnapshots second = first;
  private List<String> before = List.of();

  @BeforeEach
  void takeTurns() {
    before = POOL.groups();
    first = new TestGroupSnapshots(driver);
    second = new TestGroupSnapshots(other);
  }

  /** The driver that makes the second call of a round. */
  private TestGroupSnapshots secondOf(int round) {
    return round % 4 == 3 ? first : second;
  }

  @AfterEach
  void nothingIsLeft() {
    assertThat(POOL.keys("csi.groups." + driver.instanceId())).isEmpty();
    assertThat(POOL.keys("csi.snaps." + driver.instanceId())).isEmpty();
    // A driver that prepares for calls half a minute after its start has a name there for a moment.
    Awaitility.await()
        .untilAsserted(() -> assertThat(POOL.keys("csi.volumes." + driver.instanceId())).isEmpty());
    assertThat(before).containsAll(POOL.groups());
  }

  private void assertWhole(VolumeGroupSnapshot taken, String... sources) {
    assertThat(first.get(taken.getGroupSnapshotId(), ids(taken)).getSnapshotsList())
        .hasSize(sources.length)
        .allSatisfy(snapshot -> assertThat(snapshot.getReadyToUse()).isTrue())
        .extracting(Snapshot::getSourceVolumeId)
        .containsExactlyInAnyOrder(sources);
    List<String> images = POOL.images();
    for (String id : ids(taken)) {
      String image = "csi-snap-" + TestGroups.uuid(id);
      assertThat(images).contains(image);
      assertThat(POOL.snapshots(image))
          .anySatisfy(snapshot -> assertThat(snapshot.path("name").asText()).isEqualTo(image));
    }
  }

  /** Of the group's snapshot, a volume keeps only what the clones need. */
  private static void assertFree(String... volumes) {
    for (String volume : volumes) {
      POOL.snapshots(image(volume))
          .forEach(
              snapshot ->
                  assertThat(snapshot.path("namespace").path("type").asText()).isEqualTo("trash"));
    }
  }

  @Test
  void ofTwoCreationsOfANameThereIsOneSnapshot() throws Exception {
    String a = newVolume();
    String b = newVolume();
    int both = 0;
    for (int i = 0; i < ROUNDS; i++) {
      String name = newName();
      TestGroupSnapshots later = secondOf(i);
      AtomicReference<VolumeGroupSnapshot> ours = new AtomicReference<>();
      AtomicReference<VolumeGroupSnapshot> theirs = new AtomicReference<>();
      Ends ends =
          race(i, () -> ours.set(first.take(name, a, b)), () -> theirs.set(later.take(name, b, a)));
      assertThat(List.of(ends.ours(), ends.theirs())).isSubsetOf(Code.OK, Code.ABORTED);
      VolumeGroupSnapshot taken = first.take(name, a, b);
      both += ends.ours() == ends.theirs() ? 1 : 0;
      for (VolumeGroupSnapshot answered : new VolumeGroupSnapshot[] {ours.get(), theirs.get()}) {
        if (answered != null) {
          assertThat(answered.getGroupSnapshotId()).isEqualTo(taken.getGroupSnapshotId());
          assertThat(answered.getSnapshotsList())
              .containsExactlyInAnyOrderElementsOf(taken.getSnapshotsList());
        }
      }
      assertWhole(taken, a, b);
      assertFree(a, b);
      first.delete(taken);
    }
    System.out.printf("both creations ended alike in %d of %d rounds%n", both, ROUNDS);
    driver.delete(a);
    driver.delete(b);
  }

  @Test
  void aSnapshotIsOfAllVolumesOrThereIsNone() throws Exception {
    String b = newVolume();
    int takenCount = 0;
    for (int i = 0; i < ROUNDS; i++) {
      String a = newVolume();
      String name = newName();
      AtomicReference<VolumeGroupSnapshot> taken = new AtomicReference<>();
      TestGroupSnapshots later = secondOf(i);
      Ends ends = race(i, () -> taken.set(first.take(name, a, b)), () -> later.driver().delete(a));
      assertThat(ends.theirs()).isIn(Code.OK, Code.ABORTED, Code.FAILED_PRECONDITION);
      if (ends.ours() == Code.OK) {
        takenCount++;
        assertWhole(taken.get(), a, b);
        assertFree(b);
        first.delete(taken.get());
      } else {
        assertThat(ends.ours()).isIn(Code.NOT_FOUND, Code.ABORTED, Code.FAILED_PRECONDITION);
      }
      driver.delete(a);
    }
    System.out.printf("%d of %d snapshots were taken%n", takenCount, ROUNDS);
    driver.delete(b);
  }

  @Test
  void aSnapshotThatIsDeletedWhileItIsAskedForAgainIsWholeOrGone() throws Exception {
    String a = newVolume();
    String b = newVolume();
    for (int i = 0; i < ROUNDS; i++) {
      String name = newName();
      VolumeGroupSnapshot taken = first.take(name, a, b);
      AtomicReference<VolumeGroupSnapshot> again = new AtomicReference<>();
      TestGroupSnapshots later = secondOf(i);
      Ends ends = race(i, () -> first.delete(taken), () -> again.set(later.take(name, a, b)));
      assertThat(List.of(ends.ours(), ends.theirs())).isSubsetOf(Code.OK, Code.ABORTED);
      if (ends.ours() == Code.OK) {
        assertStatus(Code.NOT_FOUND, () -> first.get(taken.getGroupSnapshotId(), ids(taken)));
      } else {
        assertWhole(taken, a, b);
        first.delete(taken);
      }
      VolumeGroupSnapshot last = first.take(name, a, b);
      if (again.get() != null
          && !again.get().getGroupSnapshotId().equals(taken.getGroupSnapshotId())) {
        assertThat(last.getGroupSnapshotId()).isEqualTo(again.get().getGroupSnapshotId());
      }
      assertWhole(last, a, b);
      assertFree(a, b);
      first.delete(last);
    }
    driver.delete(a);
    driver.delete(b);
  }

  @Test
  void ofTwoSnapshotsThatShareAVolumeEachIsWholeOrRefused() throws Exception {
    String a = newVolume();
    String b = newVolume();
    String c = newVolume();
    int both = 0;
    for (int i = 0; i < ROUNDS; i++) {
      String name = newName();
      TestGroupSnapshots later = secondOf(i);
      Ends ends =
          race(
              i,
              () -> assertThat(first.take(name + "-1", a, b).getReadyToUse()).isTrue(),
              () -> assertThat(later.take(name + "-2", b, c).getReadyToUse()).isTrue());
      assertThat(List.of(ends.ours(), ends.theirs()))
          .isSubsetOf(Code.OK, Code.ABORTED, Code.FAILED_PRECONDITION);
      both += ends.ours() == Code.OK && ends.theirs() == Code.OK ? 1 : 0;
      VolumeGroupSnapshot one = first.take(name + "-1", a, b);
      VolumeGroupSnapshot two = first.take(name + "-2", b, c);
      assertWhole(one, a, b);
      assertWhole(two, b, c);
      assertFree(a, b, c);
      first.delete(one);
      first.delete(two);
    }
    System.out.printf("both snapshots were taken in %d of %d rounds%n", both, ROUNDS);
    List.of(a, b, c).forEach(driver::delete);
  }

  @Test
  void aSnapshotOfAGroupThatChangesIsWholeOrRefused() throws Exception {
    String a = newVolume();
    String b = newVolume();
    String c = newVolume();
    VolumeGroup group = groups.create(newName(), a, b);
    String id = group.getVolumeGroupId();
    for (int i = 0; i < ROUNDS; i++) {
      String name = newName();
      TestGroups changing = i % 4 == 3 ? groups : theirs;
      AtomicReference<VolumeGroupSnapshot> taken = new AtomicReference<>();
      Ends ends = race(i, () -> taken.set(first.take(name, a, b)), () -> changing.modify(id, b, c));
      assertThat(ends.ours()).isIn(Code.OK, Code.ABORTED, Code.FAILED_PRECONDITION);
      assertThat(ends.theirs()).isIn(Code.OK, Code.ABORTED);
      assertThat(groups.members(id))
          .isEqualTo(ends.theirs() == Code.OK ? Set.of(b, c) : Set.of(a, b));
      if (ends.ours() == Code.OK) {
        assertWhole(taken.get(), a, b);
        first.delete(taken.get());
      }
      assertFree(a, b, c);
      assertThat(groups.modify(id, a, b).getVolumesCount()).isEqualTo(2);
    }
    groups.delete(id);
    driver.delete(c);
  }
}
