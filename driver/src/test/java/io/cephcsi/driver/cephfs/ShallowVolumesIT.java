package io.cephcsi.driver.cephfs;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static io.cephcsi.driver.testing.Statuses.untilNotAborted;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.Golden;
import io.cephcsi.driver.testing.SubvolumeState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.tracker.RemoveResult;
import io.cephcsi.proto.csi.v1.CapacityRange;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Shallow volumes over the socket: the table of what they promise. */
class ShallowVolumesIT {
  private static final long MIB = 1L << 20;
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final SubvolumeState STATE = new SubvolumeState(CLUSTER);

  @RegisterExtension
  static final TestDriver driver = TestDriver.cephFs(CLUSTER).withCredentials().start();

  private Volume source = Volume.getDefaultInstance();
  private Snapshot snapshot = Snapshot.getDefaultInstance();

  @BeforeEach
  void makeSource() {
    source = driver.create(newName(), 16 * MIB);
    STATE.write(path(source) + "/file", "content");
    snapshot = driver.snapshot(newName(), source.getVolumeId());
    STATE.write(path(source) + "/file", "changed");
  }

  @AfterEach
  void deleteSource() {
    driver.deleteSnapshot(snapshot.getSnapshotId());
    driver.delete(source.getVolumeId());
    assertThat(STATE.leftovers()).isEmpty();
  }

  private static String newName() {
    return "pvc-" + UUID.randomUUID();
  }

  private static String path(Volume volume) {
    return volume.getVolumeContextMap().get("subvolumePath");
  }

  private static String subvolume(Volume volume) {
    return volume.getVolumeContextMap().get("subvolumeName");
  }

  private static String uuid(String id) {
    return id.substring(id.length() - 36);
  }

  private String backing() {
    return "csi-snap-" + uuid(snapshot.getSnapshotId());
  }

  private String tracker() {
    return "rt-backingsnapshot-" + snapshot.getSnapshotId();
  }

  /** Reads the file through the path that the volume's context gives, as the node plugin does. */
  private String shown(Volume shallow) {
    String root = path(shallow) + ".snap/" + backing();
    String data =
        STATE.mounted(
            mount ->
                mount.snapshots(path(shallow).replaceAll("/$", "")).contents(backing()).get(0));
    assertThat(data).startsWith(root + "/");
    return STATE.read(data + "/file");
  }

  private static CreateVolumeRequest.Builder fromVolume(String name, Volume from) {
    return driver
        .cloneRequest(name, 0, from.getVolumeId())
        .clearVolumeCapabilities()
        .addVolumeCapabilities(TestDriver.onlyReader());
  }

  private static Volume create(CreateVolumeRequest.Builder request) {
    return driver.controller().createVolume(request.build()).getVolume();
  }

  @Test
  void theLifeOfTwoLeavesWhatCephCsiLeavesAfterEachCall() {
    Map<String, String> ids = new java.util.HashMap<>();
    ids.put("7f97915e-d2b3-46fe-a3ab-085003f41743", uuid(source.getVolumeId()));
    ids.put("13a198ab-7cc0-4c98-9f50-ced4cf263bf9", uuid(snapshot.getSnapshotId()));
    Volume one = driver.show("shallow-1", snapshot.getSnapshotId());
    ids.put("24776772-523e-4873-a6b8-4e9657f54dc3", uuid(one.getVolumeId()));
    assertThat(one.getVolumeContextMap())
        .containsOnlyKeys("subvolumePath", "clusterID", "fsName", "subvolumeName")
        .containsEntry("subvolumePath", "/volumes/csi/" + subvolume(source) + "/");
    assertThat(one.getCapacityBytes()).isEqualTo(16 * MIB);
    assertThat(one.getContentSource().getSnapshot().getSnapshotId())
        .isEqualTo(snapshot.getSnapshotId());
    assertIsGolden("CephFS shallow CreateVolume shallow-1 from fsnap-1", ids);
    assertThat(driver.show("shallow-1", snapshot.getSnapshotId())).isEqualTo(one);

    Volume two = driver.show("shallow-2", snapshot.getSnapshotId());
    ids.put("057297b1-4af5-4753-b56a-dca2ffa2b036", uuid(two.getVolumeId()));
    assertIsGolden("CephFS shallow CreateVolume shallow-2 from fsnap-1", ids);

    driver.deleteSnapshot(snapshot.getSnapshotId());
    assertThat(shown(one)).isEqualTo("content");
    assertIsGolden("CephFS DeleteSnapshot fsnap-1 while two shallow volumes refer to it", ids);
    driver.delete(one.getVolumeId());
    assertIsGolden("CephFS DeleteVolume shallow-1", ids);
    assertThat(shown(two)).isEqualTo("content");
    driver.delete(two.getVolumeId());
    assertIsGolden("CephFS DeleteVolume shallow-2: the last reference", ids);
    assertThat(STATE.snapshots(subvolume(source))).isEmpty();
  }

  /** All that ceph-csi reads is as ceph-csi writes it; request names and a key of ours differ. */
  private void assertIsGolden(String call, Map<String, String> ids) {
    Map<String, Map<String, String>> expected =
        withoutNames(SubvolumeState.renamed(trackersAsText(Golden.journal(call)), ids));
    Map<String, Map<String, String>> journal = STATE.journal();
    journal.keySet().removeIf(object -> object.startsWith("csi.java."));
    journal.values().forEach(omap -> omap.keySet().removeIf(key -> key.startsWith("csi.java.")));
    assertThat(withoutNames(journal)).as(call).isEqualTo(expected);
  }

  private static Map<String, Map<String, String>> trackersAsText(
      Map<String, Map<String, String>> golden) {
    golden.forEach(
        (object, omap) -> {
          if (object.startsWith("rt-")) {
            omap.replaceAll((key, value) -> value.equals("0x01") ? "\u0001" : "\u0002");
          }
        });
    return golden;
  }

  private static Map<String, Map<String, String>> withoutNames(
      Map<String, Map<String, String>> journal) {
    Map<String, Map<String, String>> same = new java.util.TreeMap<>();
    journal.forEach(
        (object, omap) -> {
          Map<String, String> values = new java.util.TreeMap<>();
          omap.forEach(
              (key, value) ->
                  values.put(
                      object.endsWith("s.default") ? value : key,
                      key.endsWith("name") && !key.endsWith("imagename") ? "a name" : value));
          same.put(object, values);
        });
    return same;
  }

  @Test
  void aShallowVolumeIsReadAfterSnapshotAndSourceAreDeleted() {
    Volume shallow = driver.show(newName(), snapshot.getSnapshotId());
    assertThat(shown(shallow)).isEqualTo("content");
    driver.deleteSnapshot(snapshot.getSnapshotId());
    assertThat(shown(shallow)).isEqualTo("content");
    driver.delete(source.getVolumeId());
    assertThat(shown(shallow)).isEqualTo("content");
    assertThat(STATE.subvolumes()).containsExactly(subvolume(source)); // what is kept of it
    driver.delete(shallow.getVolumeId());
    assertThat(STATE.subvolumes()).isEmpty();
  }

  @Test
  void aRetainedSnapshotCanStillBeShown() {
    driver.delete(source.getVolumeId());
    Volume shallow = driver.show(newName(), snapshot.getSnapshotId());
    assertThat(shown(shallow)).isEqualTo("content");
    driver.delete(shallow.getVolumeId());
  }

  @Test
  void fromAShallowVolumeAnotherReferenceIsMade() {
    Volume first = driver.show(newName(), snapshot.getSnapshotId());
    driver.deleteSnapshot(snapshot.getSnapshotId());
    String name = newName();
    Volume second = create(fromVolume(name, first));
    assertThat(path(second)).isEqualTo(path(first));
    driver.delete(first.getVolumeId());
    assertThat(shown(second)).isEqualTo("content");
    assertThat(create(fromVolume(name, first))).isEqualTo(second); // though its source is gone
    assertStatus(Code.NOT_FOUND, () -> create(fromVolume(newName(), first)));
    driver.delete(second.getVolumeId());
    assertThat(STATE.snapshots(subvolume(source))).isEmpty();
  }

  @Test
  void aVolumeThatIsWrittenIsACopyOfTheSnapshotThatAShallowOneShows() {
    Volume shallow = driver.show(newName(), snapshot.getSnapshotId());
    driver.deleteSnapshot(snapshot.getSnapshotId());
    var request = driver.cloneRequest(newName(), 20 * MIB, shallow.getVolumeId()).build();
    Volume copy = await(request);
    assertThat(copy.getCapacityBytes()).isEqualTo(20 * MIB);
    assertThat(STATE.read(path(copy) + "/file")).isEqualTo("content");
    driver.delete(shallow.getVolumeId());
    driver.delete(copy.getVolumeId());
  }

  private static Volume await(CreateVolumeRequest request) {
    return untilNotAborted(
        Duration.ofMinutes(1), () -> driver.controller().createVolume(request).getVolume());
  }

  @Test
  void whatMakesNoSenseIsInvalid() {
    assertStatus(
        Code.INVALID_ARGUMENT, "is no shallow volume", () -> create(fromVolume(newName(), source)));
    Volume shallow = driver.show(newName(), snapshot.getSnapshotId());
    assertStatus(Code.INVALID_ARGUMENT, () -> driver.snapshot(newName(), shallow.getVolumeId()));
    assertStatus(Code.INVALID_ARGUMENT, () -> driver.expand(shallow.getVolumeId(), 64 * MIB));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "backingSnapshot",
        () ->
            create(
                driver
                    .restoreRequest(newName(), 0, snapshot.getSnapshotId())
                    .putParameters("backingSnapshot", "true")));
    driver.delete(shallow.getVolumeId());
  }

  @Test
  void theSizeIsWhatTheCoExpectsAndNeverRefused() {
    String name = newName();
    var request =
        driver
            .showRequest(name, snapshot.getSnapshotId())
            .setCapacityRange(CapacityRange.newBuilder().setRequiredBytes(1L << 40));
    Volume shallow = create(request);
    assertThat(shallow.getCapacityBytes()).isEqualTo(1L << 40);
    assertThat(create(request)).isEqualTo(shallow);
    assertStatus(Code.ALREADY_EXISTS, () -> create(driver.createRequest(name, MIB)));
    driver.delete(shallow.getVolumeId());
  }

  @Test
  void aNameIsNotAnsweredForAnotherSnapshotThatDoesNotExist() {
    String name = newName();
    Volume shallow = driver.show(name, snapshot.getSnapshotId());
    String missing =
        snapshot.getSnapshotId().replace(uuid(snapshot.getSnapshotId()), new UUID(7, 7).toString());
    assertStatus(Code.NOT_FOUND, missing, () -> driver.show(name, missing));
    assertThat(driver.show(name, snapshot.getSnapshotId())).isEqualTo(shallow);
    driver.delete(shallow.getVolumeId());
  }

  @Test
  void withoutBackingSnapshotACopyIsMade() {
    Volume copy =
        await(
            driver
                .showRequest(newName(), snapshot.getSnapshotId())
                .putParameters("backingSnapshot", "false")
                .build());
    assertThat(STATE.subvolumes()).contains(subvolume(copy));
    assertThat(STATE.read(path(copy) + "/file")).isEqualTo("content");
    driver.delete(copy.getVolumeId());
  }

  @Test
  void aSnapshotFromBeforeTrackersGetsOneWithTwoReferences() {
    STATE.removeObject(tracker());
    Volume shallow = driver.show(newName(), snapshot.getSnapshotId());
    assertThat(STATE.journal().get(tracker()))
        .containsOnlyKeys(snapshot.getSnapshotId(), subvolume(shallow));
    driver.delete(shallow.getVolumeId());
    assertThat(STATE.snapshots(subvolume(source))).containsExactly(backing());
  }

  @Test
  void aMissingTrackerIsNoReasonToDeleteTheSnapshot() {
    Volume shallow = driver.show(newName(), snapshot.getSnapshotId());
    STATE.removeObject(tracker());
    driver.delete(shallow.getVolumeId());
    assertThat(STATE.snapshots(subvolume(source))).containsExactly(backing());
  }

  @Test
  void theUsersSnapshotStaysWhenItHasNoTracker() {
    Volume first = driver.show(newName(), snapshot.getSnapshotId());
    STATE.removeObject(tracker());
    Volume second = create(fromVolume(newName(), first));
    assertThat(shown(second)).isEqualTo("content");
    assertThat(STATE.journal().get(tracker()))
        .containsOnlyKeys(snapshot.getSnapshotId(), subvolume(second));
    driver.delete(first.getVolumeId());
    driver.delete(second.getVolumeId());
    assertThat(STATE.snapshots(subvolume(source))).containsExactly(backing());
  }

  @Test
  void theLastVolumeLeavesASnapshotWithoutItsOwnReference() {
    Volume shallow = driver.show(newName(), snapshot.getSnapshotId());
    assertThat(STATE.tracker().remove(snapshot.getSnapshotId(), snapshot.getSnapshotId()))
        .isEqualTo(RemoveResult.REMAINING);
    driver.delete(shallow.getVolumeId());
    assertThat(STATE.snapshots(subvolume(source))).containsExactly(backing());
  }

  @Test
  void aVolumeWhoseSnapshotVanishedIsDeleted() {
    Volume shallow = driver.show(newName(), snapshot.getSnapshotId());
    STATE.removeSnapshot(subvolume(source), backing());
    String other = newName();
    assertStatus(Code.NOT_FOUND, () -> driver.show(other, snapshot.getSnapshotId()));
    driver.delete(shallow.getVolumeId());
  }

  @Test
  void aShallowVolumeWhoseDeletionDiedGivesItsNameToAnother() {
    String name = newName();
    String first = driver.show(name, snapshot.getSnapshotId()).getVolumeId();
    STATE.markDeleting(first);
    Volume second = driver.show(name, snapshot.getSnapshotId());
    assertThat(second.getVolumeId()).isNotEqualTo(first);
    driver.delete(first);
    assertThat(STATE.journal().get(tracker()))
        .containsOnlyKeys(snapshot.getSnapshotId(), subvolume(second));
    driver.delete(second.getVolumeId());
  }

  @Test
  void theNameOfADeletedSnapshotIsFreeThoughItIsShown() {
    String name = newName();
    Snapshot first = driver.snapshot(name, source.getVolumeId());
    Volume shallow = driver.show(newName(), first.getSnapshotId());
    driver.deleteSnapshot(first.getSnapshotId());
    assertStatus(Code.NOT_FOUND, () -> driver.show(newName(), first.getSnapshotId()));
    Snapshot second = driver.snapshot(name, source.getVolumeId());
    assertThat(second.getSnapshotId()).isNotEqualTo(first.getSnapshotId());
    driver.delete(shallow.getVolumeId());
    driver.deleteSnapshot(second.getSnapshotId());
  }

  /** What ceph-csi masks, it has deleted for its user, and nothing else says so. */
  @Test
  void aSnapshotThatCephCsiDeletedIsNotReturnedWhileItIsShown() {
    String name = newName();
    Snapshot first = driver.snapshot(name, source.getVolumeId());
    String id = first.getSnapshotId();
    String shown = newName();
    Volume shallow = driver.show(shown, id);
    assertThat(STATE.tracker().mask(id, id)).isEqualTo(RemoveResult.REMAINING);
    assertThat(driver.show(shown, id)).isEqualTo(shallow);
    assertStatus(Code.NOT_FOUND, () -> driver.show(newName(), id));
    assertStatus(Code.NOT_FOUND, () -> driver.restore(newName(), 0, id));
    Snapshot second = driver.snapshot(name, source.getVolumeId());
    assertThat(second.getSnapshotId()).isNotEqualTo(id);
    driver.delete(shallow.getVolumeId());
    assertThat(STATE.snapshots(subvolume(source)))
        .containsExactlyInAnyOrder(backing(), "csi-snap-" + uuid(second.getSnapshotId()));
    driver.deleteSnapshot(second.getSnapshotId());
  }

  @Test
  void manyAtOnceOfASnapshotWithoutATrackerAllGetTheirReference() throws Exception {
    STATE.removeObject(tracker());
    ExecutorService clients = Executors.newFixedThreadPool(8);
    try (TestDriver second = TestDriver.cephFs(CLUSTER).withCredentials().start()) {
      List<Future<Volume>> calls = new ArrayList<>();
      for (int i = 0; i < 16; i++) {
        TestDriver one = i % 2 == 0 ? driver : second;
        calls.add(clients.submit(() -> one.show(newName(), snapshot.getSnapshotId())));
      }
      List<Volume> volumes = new ArrayList<>();
      for (Future<Volume> call : calls) {
        volumes.add(call.get());
      }
      assertThat(STATE.journal().get(tracker())).hasSize(17);
      driver.deleteSnapshot(snapshot.getSnapshotId());
      List<Future<?>> deletes = new ArrayList<>();
      for (int i = 0; i < volumes.size(); i++) {
        TestDriver one = i % 2 == 0 ? second : driver;
        String id = volumes.get(i).getVolumeId();
        deletes.add(clients.submit(() -> one.delete(id)));
      }
      for (Future<?> delete : deletes) {
        delete.get();
      }
    }
    clients.shutdown();
    assertThat(STATE.snapshots(subvolume(source))).isEmpty();
  }
}
