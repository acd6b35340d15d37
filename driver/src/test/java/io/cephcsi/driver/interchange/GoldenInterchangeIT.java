package io.cephcsi.driver.interchange;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.Golden;
import io.cephcsi.driver.testing.ImageContent;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceRequest;
import io.cephcsi.proto.csi.v1.ControllerGetVolumeRequest;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.ListSnapshotsRequest;
import io.cephcsi.proto.csi.v1.ListSnapshotsResponse;
import io.cephcsi.proto.csi.v1.ListVolumesRequest;
import io.cephcsi.proto.csi.v1.ListVolumesResponse;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.grpc.Status.Code;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What ceph-csi left on a real cluster is served like what this driver made. */
class GoldenInterchangeIT extends GoldenCase {
  private static final List<String> STEPS = List.of(VOLUME, SNAPSHOT, RESTORED, COPIED, DELETED);
  private static final ImageContent CONTENT = new ImageContent(CLUSTER);

  /** The call that a container orchestrator repeats, of a volume that is recorded. */
  private static Volume repeat(String name) {
    String call =
        STEPS.stream().filter(s -> s.startsWith("RBD CreateVolume " + name)).findFirst().orElse("");
    CreateVolumeRequest.Builder request = request(name);
    if (!call.isEmpty()) {
      Golden.after(call)
          .get("answer")
          .path("content_source")
          .properties()
          .forEach(
              kind ->
                  request.setVolumeContentSource(
                      source(kind.getKey(), id(uuid(kind.getValue().elements().next().asText())))));
    }
    Volume volume = create(request);
    if (!call.isEmpty()) {
      assertAnswer(call, volume, Map.of());
    }
    return volume;
  }

  @ParameterizedTest
  @CsvSource(
      quoteCharacter = '"',
      value = {
        "\"" + VOLUME + "\",true",
        "\"" + SNAPSHOT + "\",true",
        "\"" + SNAPSHOT + "\",false",
        "\"" + RESTORED + "\",true",
        "\"" + RESTORED + "\",false",
        "\"" + COPIED + "\",true",
        "\"" + COPIED + "\",false",
        "\"" + DELETED + "\",true",
        "\"" + DELETED + "\",false"
      })
  void whatCephCsiLeftIsServedAndDeletedWithoutATrace(String call, boolean sourcesFirst) {
    Set<String> objects = POOL.everything();
    List<String> others = inTheTrash(); // of other tests on this cluster
    List<String> trashed = GoldenLayout.layOut(CLUSTER, call);
    Picture laidOut = Picture.taken(CLUSTER, "rbd", "rbd", "", uuids(call));
    assertThat(laidOut.with(Map.of())).isEqualTo(Picture.golden(call).with(Map.of()));

    assertListed(call);
    volumes(call)
        .forEach(
            (name, uuid) -> {
              assertThat(repeat(name).getVolumeId()).isEqualTo(id(uuid));
              assertThat(got(id(uuid)).getCapacityBytes()).isEqualTo(64 * MIB);
            });
    String parent = volumes(COPIED).get("pvc-1");
    snapshots(call)
        .forEach(
            (name, uuid) -> {
              Snapshot repeated = driver.snapshot(name, id(parent));
              assertThat(repeated.getSnapshotId()).isEqualTo(id(uuid));
              assertThat(snapshot(id(uuid))).isEqualTo(repeated);
            });
    assertThat(Picture.taken(CLUSTER, "rbd", "rbd", "", uuids(call)))
        .as("asking and repeating changes nothing")
        .isEqualTo(laidOut);

    List<String> volumes = new ArrayList<>();
    volumes(call).values().forEach(uuid -> volumes.add(id(uuid)));
    List<String> snapshots = new ArrayList<>();
    snapshots(call).values().forEach(uuid -> snapshots.add(id(uuid)));
    use(List.copyOf(volumes), List.copyOf(snapshots), volumes, snapshots);

    if (sourcesFirst) {
      volumes.forEach(driver::delete);
      snapshots.forEach(driver::deleteSnapshot);
    } else {
      java.util.Collections.reverse(volumes);
      snapshots.forEach(driver::deleteSnapshot);
      volumes.forEach(driver::delete);
    }
    removeGroup(call);
    removeAsTheManager(trashed, others);
    assertNothingIsLeft(objects, call);
  }

  /** What ceph-csi put into the trash, the task that it gave to the manager removes. */
  private static void removeAsTheManager(List<String> trashed, List<String> others) {
    if (trashed.isEmpty()) {
      return;
    }
    Awaitility.await()
        .atMost(PoolState.MANAGER_TIME)
        .pollInterval(Duration.ofMillis(300))
        .untilAsserted(
            () ->
                assertThat(inTheTrash())
                    .filteredOn(id -> !others.contains(id))
                    .containsExactlyInAnyOrderElementsOf(trashed));
    trashed.forEach(id -> CLUSTER.rbd("trash", "rm", "--no-progress", "rbd/" + id));
  }

  private static List<String> inTheTrash() {
    return CLUSTER.rbd("trash", "ls", "rbd").lines().map(l -> l.split(" ", 2)[0]).toList();
  }

  private static void assertListed(String call) {
    ListVolumesResponse all =
        driver.controller().listVolumes(ListVolumesRequest.getDefaultInstance());
    volumes(call)
        .values()
        .forEach(
            uuid ->
                assertThat(all.getEntriesList())
                    .filteredOn(entry -> entry.getVolume().getVolumeId().equals(id(uuid)))
                    .singleElement()
                    .satisfies(
                        entry -> {
                          assertThat(entry.getVolume().getCapacityBytes()).isEqualTo(64 * MIB);
                          assertThat(entry.getVolume().getVolumeContextMap())
                              .containsEntry("imageName", "csi-vol-" + uuid);
                        }));
    ListSnapshotsResponse ofVolume =
        driver
            .controller()
            .listSnapshots(
                ListSnapshotsRequest.newBuilder()
                    .setSourceVolumeId(id(volumes(COPIED).get("pvc-1")))
                    .build());
    assertThat(ofVolume.getEntriesList())
        .extracting(entry -> entry.getSnapshot().getSnapshotId())
        .containsExactlyElementsOf(snapshots(call).values().stream().map(s -> id(s)).toList());
  }

  private static Volume got(String id) {
    return driver
        .controller()
        .controllerGetVolume(ControllerGetVolumeRequest.newBuilder().setVolumeId(id).build())
        .getVolume();
  }

  /** Clones, snapshots, restores, reclaims and expands all; what is made is added to the lists. */
  private static void use(
      List<String> volumes,
      List<String> snapshots,
      List<String> allVolumes,
      List<String> allSnaps) {
    for (String snapshot : snapshots) {
      Volume restored = driver.restore("r-" + snapshot, 0, snapshot);
      allVolumes.add(restored.getVolumeId());
      assertHasContent(restored.getVolumeId());
    }
    for (String volume : volumes) {
      assertHasContent(volume);
      Volume copy = driver.copy("c-" + volume, 0, volume);
      allVolumes.add(copy.getVolumeId());
      assertHasContent(copy.getVolumeId());
      Snapshot snapshot = driver.snapshot("s-" + volume, volume);
      allSnaps.add(snapshot.getSnapshotId());
      Volume restored = driver.restore("r-" + volume, 0, snapshot.getSnapshotId());
      allVolumes.add(restored.getVolumeId());
      assertHasContent(restored.getVolumeId());
      assertThat(
              driver
                  .reclaim()
                  .controllerReclaimSpace(
                      ControllerReclaimSpaceRequest.newBuilder()
                          .setVolumeId(volume)
                          .putAllSecrets(driver.secrets())
                          .build())
                  .hasPostUsage())
          .isTrue();
      assertHasContent(volume);
      assertThat(driver.expand(volume, 80 * MIB)).isEqualTo(80 * MIB);
    }
  }

  private static int content;

  private static void assertHasContent(String volumeId) {
    int checksum = CONTENT.checksum("rbd/csi-vol-" + uuid(volumeId));
    if (content == 0) {
      content = checksum;
    }
    assertThat(checksum).isEqualTo(content);
  }

  /** The recorded group is nobody's here: it must still be there. */
  private static void removeGroup(String call) {
    Omaps omaps = new Omaps(CLUSTER, "rbd", "");
    Golden.journal(call)
        .forEach(
            (object, omap) -> {
              if (object.startsWith("csi.groups.") || object.startsWith("csi.volume.group.")) {
                assertThat(omaps.of(object)).isEqualTo(omap);
                omaps.remove(object);
              }
            });
  }

  private static void assertNothingIsLeft(Set<String> before, String call) {
    Awaitility.await()
        .atMost(PoolState.MANAGER_TIME)
        .pollInterval(Duration.ofSeconds(1))
        .untilAsserted(() -> assertThat(POOL.left(before)).isEmpty());
    Picture left = Picture.taken(CLUSTER, "rbd", "rbd", "", uuids(call)).with(Map.of());
    assertThat(left).isEqualTo(new Picture(Map.of(), Map.of(), Set.of()));
  }

  /** ceph-csi records the image of a copy, and then makes it as large as it is to be. */
  @Test
  void aCopyThatCephCsiDidNotGrowIsGrown() {
    Set<String> objects = POOL.everything();
    List<String> others = inTheTrash();
    List<String> trashed = GoldenLayout.layOut(CLUSTER, COPIED);
    String source = id(volumes(COPIED).get("pvc-1"));
    String name =
        volumes(COPIED).keySet().stream()
            .filter(
                copy ->
                    STEPS.stream()
                        .anyMatch(s -> s.startsWith("RBD CreateVolume " + copy + " from pvc-1")))
            .findFirst()
            .orElseThrow();
    String copy = id(volumes(COPIED).get(name));
    CreateVolumeRequest.Builder request = request(name);
    request.getCapacityRangeBuilder().setRequiredBytes(96 * MIB);
    assertStatus(
        Code.ALREADY_EXISTS,
        "not made from",
        () -> create(request.clone().setVolumeContentSource(source("volume", copy))));
    assertThat(got(copy).getCapacityBytes()).isEqualTo(64 * MIB);
    request.setVolumeContentSource(source("volume", source));
    Volume grown = create(request);
    assertThat(grown.getVolumeId()).isEqualTo(copy);
    assertThat(grown.getCapacityBytes()).isEqualTo(96 * MIB);
    assertThat(got(copy).getCapacityBytes()).isEqualTo(96 * MIB);
    assertThat(create(request)).isEqualTo(grown);

    volumes(COPIED).values().forEach(uuid -> driver.delete(id(uuid)));
    snapshots(COPIED).values().forEach(uuid -> driver.deleteSnapshot(id(uuid)));
    removeGroup(COPIED);
    removeAsTheManager(trashed, others);
    assertNothingIsLeft(objects, COPIED);
  }
}
