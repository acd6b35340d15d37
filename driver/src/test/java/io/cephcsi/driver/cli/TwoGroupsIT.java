package io.cephcsi.driver.cli;

import static io.cephcsi.driver.cli.SeveralIds.found;
import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cephcsi.driver.testing.CephUsers;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.GetCapacityRequest;
import io.cephcsi.proto.csi.v1.ListSnapshotsRequest;
import io.cephcsi.proto.csi.v1.ListSnapshotsResponse;
import io.cephcsi.proto.csi.v1.ListVolumesRequest;
import io.cephcsi.proto.csi.v1.ListVolumesResponse;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * clusterIDs of one cluster that differ in the subvolume group alone share a journal: {@code
 * ceph-csi fsck}, {@code tracker verify} and lists of the driver take nothing of the one group for
 * lost because the other lacks it.
 */
class TwoGroupsIT {
  private static final TestCluster CEPH = TestCluster.shared();
  private static final long MIB = 1L << 20;
  private static final String ID = UUID.randomUUID().toString();
  private static final String NAMESPACE = "groups-" + ID;

  /** The groups by clusterID; a2 is another id for the same as a. */
  private static final Map<String, String> GROUPS =
      Map.of("a", "ga-" + ID, "a2", "ga-" + ID, "b", "gb-" + ID, "x", "gx-" + ID);

  @TempDir private static Path folder;
  private static SeveralIds ids;
  private static TestDriver driver;
  private static Volume inA;
  private static Volume inB;
  private static Volume shownInB;
  private static String snapshotInB;

  @BeforeAll
  static void start() {
    ids = withIds("a", "a2", "b");
    for (String id : List.of("a", "b")) {
      fs("subvolumegroup", "create", "cephfs", GROUPS.get(id));
    }
    driver = ids.startDriver();
    inA = create("a");
    inB = create("b");
    snapshotInB = snapshot("snap", inB, "b");
    shownInB = show("shown", snapshotInB);
  }

  @AfterAll
  static void stop() {
    driver.delete(shownInB.getVolumeId());
    driver.deleteSnapshot(snapshotInB);
    driver.delete(inB.getVolumeId());
    driver.delete(inA.getVolumeId());
    driver.close();
  }

  /** Such clusterIDs; another one than those is of the group of b. */
  private static SeveralIds withIds(String... clusterIds) {
    return new SeveralIds(
        CEPH,
        folder,
        Stream.of(clusterIds)
            .map(id -> new SeveralIds.Id(id, NAMESPACE, GROUPS.getOrDefault(id, "gb-" + ID)))
            .toList());
  }

  private static String fs(String... args) {
    List<String> command = new ArrayList<>(List.of("fs"));
    command.addAll(List.of(args));
    return CEPH.ceph(command.toArray(new String[0]));
  }

  private static Volume create(String clusterId) {
    return driver.create(
        driver
            .createRequest("pvc-" + clusterId + "-" + UUID.randomUUID(), 8 * MIB)
            .putParameters("clusterID", clusterId));
  }

  private static String snapshot(String name, Volume source, String clusterId) {
    return driver
        .snapshot(
            driver
                .snapshotRequest(name + "-" + ID, source.getVolumeId())
                .putParameters("clusterID", clusterId))
        .getSnapshotId();
  }

  /** A shallow volume of b. */
  private static Volume show(String name, String snapshot) {
    return driver.create(
        driver.showRequest(name + "-" + ID, snapshot).putParameters("clusterID", "b"));
  }

  private static UUID uuid(Volume volume) {
    return VolumeId.parse(volume.getVolumeId()).orElseThrow().uuid();
  }

  private static String subvolume(Volume volume) {
    return volume.getVolumeContextMap().get("subvolumeName");
  }

  private static JsonNode fsck(String... args) throws Exception {
    return ids.fsck("admin", args);
  }

  @Test
  void nothingIsFoundByAnyClusterId() throws Exception {
    for (String[] how :
        List.of(
            new String[] {"--all-clusters"},
            new String[] {"--cluster", "a"},
            new String[] {"--cluster", "b"})) {
      JsonNode checked = fsck(how);
      assertThat(found(checked)).as(how[how.length - 1]).isEmpty();
      assertThat(checked.get("leftOut")).isEmpty();
    }
    for (String id : List.of("a", "b")) {
      Program verified = ids.run("admin", "tracker", "verify", "--cluster", id);
      assertThat(verified.err()).isEmpty();
      assertThat(verified.exitCode()).as(verified.out()).isZero();
      assertThat(new ObjectMapper().readTree(verified.out()).get("trackers")).hasSize(1);
    }
  }

  @Test
  void whatIsGoneIsFoundOnceByEachClusterId() throws Exception {
    Volume gone = create("b");
    fs("subvolume", "rm", "cephfs", subvolume(gone), GROUPS.get("b"));
    String expected = "SUBVOLUME_GONE csi.volume." + uuid(gone);
    try {
      assertThat(found(fsck("--all-clusters"))).containsExactly(expected);
      assertThat(found(fsck("--cluster", "a"))).containsExactly(expected);
    } finally {
      driver.delete(gone.getVolumeId());
    }
  }

  @Test
  void aNameStaysWhileAnyGroupHasItsSubvolume() throws Exception {
    Volume lost = create("b");
    Omaps omaps = new Omaps(CEPH, "cephfs.metadata", NAMESPACE);
    String object = "csi.volume." + uuid(lost);
    Map<String, String> entry = omaps.of(object);
    omaps.remove(object);
    try {
      JsonNode repaired =
          fsck("--cluster", "a", "--repair", "--yes", "--only", "NAME_WITHOUT_ENTRY");
      assertThat(omaps.of("csi.volumes.default"))
          .containsKey("csi.volume." + entry.get("csi.volname"));
      assertThat(found(repaired))
          .containsExactly("NAME_WITHOUT_ENTRY volume " + entry.get("csi.volname"));
      assertThat(found(fsck("--all-clusters")))
          .containsExactlyInAnyOrder(
              "NAME_WITHOUT_ENTRY volume " + entry.get("csi.volname"),
              "SUBVOLUME_WITHOUT_ENTRY " + subvolume(lost));
    } finally {
      omaps.put(Map.of(object, entry));
      driver.delete(lost.getVolumeId());
    }
  }

  @Test
  void aUserOfOneGroupLeavesOutWhatItCannotTell() throws Exception {
    String user = "group-a-" + ID;
    CephUsers.makeCephFs(
        CEPH, user, "allow rw tag cephfs *=*", "allow r path=/volumes/" + GROUPS.get("a"));
    Volume gone = create("b");
    fs("subvolume", "rm", "cephfs", subvolume(gone), GROUPS.get("b"));
    try {
      for (String[] how :
          List.of(new String[] {"--all-clusters"}, new String[] {"--cluster", "a"})) {
        JsonNode checked = ids.fsck(user, how);
        assertThat(found(checked)).isEmpty();
        assertThat(checked.get("leftOut").toString())
            .contains("subvolumes of cephfs", "things were not judged", "/volumes cannot be read");
      }
    } finally {
      CephUsers.removeCephFs(CEPH, user);
      driver.delete(gone.getVolumeId());
    }
  }

  private static Map<String, Boolean> listed() {
    return listed(driver);
  }

  private static Map<String, Boolean> listed(TestDriver by) {
    ListVolumesResponse list = by.controller().listVolumes(ListVolumesRequest.getDefaultInstance());
    Map<String, Boolean> abnormal = new LinkedHashMap<>();
    list.getEntriesList()
        .forEach(
            entry ->
                abnormal.put(
                    entry.getVolume().getVolumeId(),
                    entry.getStatus().getVolumeCondition().getAbnormal()));
    assertThat(abnormal).hasSameSizeAs(list.getEntriesList());
    return abnormal;
  }

  @Test
  void theVolumesOfBothGroupsAreListedOnce() {
    assertThat(listed())
        .containsExactlyInAnyOrderEntriesOf(
            Map.of(
                inA.getVolumeId(), false,
                inB.getVolumeId(), false,
                shownInB.getVolumeId(), false));
  }

  @Test
  void theVolumesOfAGroupWithoutCredentialsAreNotListed() {
    try (TestDriver ofA =
        TestDriver.cephFs(CEPH).clusters(ids.config(), List.of("a")).withCredentials().start()) {
      assertThat(listed(ofA)).containsExactly(Map.entry(inA.getVolumeId(), false));
    }
  }

  /** The user removes the snapshot behind the driver's back. */
  private static void lose(Volume source, String snapshot) {
    fs(
        "subvolume",
        "snapshot",
        "rm",
        "cephfs",
        subvolume(source),
        "csi-snap-" + VolumeId.parse(snapshot).orElseThrow().uuid(),
        GROUPS.get("b"));
  }

  @Test
  void aShallowVolumeThatLostItsSnapshotIsListedWithItsOwnClusterId() {
    Volume source = create("b");
    String snapshot = snapshot("lost", source, "b");
    Volume shallow = show("of-lost", snapshot);
    driver.delete(source.getVolumeId());
    lose(source, snapshot);
    try {
      assertThat(listed()).containsEntry(shallow.getVolumeId(), true).hasSize(4);
    } finally {
      driver.delete(shallow.getVolumeId());
      driver.deleteSnapshot(snapshot);
    }
  }

  /** As when that user is for another file system. */
  @Test
  void aGroupThatTheUserOfItsClusterIdMayNotReadKeepsNoOtherFromBeingListed() {
    String user = "elsewhere-" + ID;
    Volume source = create("b");
    String snapshot = snapshot("unseen", source, "b");
    Volume shallow = show("of-unseen", snapshot);
    driver.delete(source.getVolumeId());
    lose(source, snapshot);
    fs("subvolumegroup", "create", "cephfs", GROUPS.get("x"));
    CephUsers.makeCephFs(CEPH, user, "allow rw tag cephfs *=*", "allow rw path=/volumes/gy-" + ID);
    SeveralIds both = withIds("b", "x");
    try (TestDriver limited =
        TestDriver.cephFs(CEPH)
            .clusters(both.config(), both.clusterIds())
            .withCredentials()
            .credentialsOf(user, "x")
            .start()) {
      // The third volume of b ends the page before x is listed, which its user may not read.
      ListVolumesResponse page =
          limited
              .controller()
              .listVolumes(ListVolumesRequest.newBuilder().setMaxEntries(2).build());
      assertThat(page.getEntriesList())
          .hasSize(2)
          .extracting(entry -> entry.getVolume().getVolumeId())
          .contains(shallow.getVolumeId());
      assertThat(page.getNextToken()).isNotEmpty();
    } finally {
      CephUsers.removeCephFs(CEPH, user);
      fs("subvolumegroup", "rm", "cephfs", GROUPS.get("x"));
      driver.delete(shallow.getVolumeId());
      driver.deleteSnapshot(snapshot);
    }
  }

  /** The new id of b is the first or the last one. */
  @ParameterizedTest
  @ValueSource(strings = {"0", "z"})
  void theVolumesOfARenamedClusterIdAreListedOnce(String renamed) {
    Volume source = create("b");
    String alone = snapshot("alone-" + renamed, source, "b");
    String snapshot = snapshot("kept-" + renamed, inB, "b");
    Volume withoutSource = show("of-alone-" + renamed, alone);
    Volume withoutSnapshot = show("of-kept-" + renamed, snapshot);
    driver.delete(source.getVolumeId());
    lose(source, alone);
    lose(inB, snapshot);
    try (TestDriver since = withIds("a", renamed).startDriver()) {
      Map<String, Boolean> listed = listed(since);
      String first = renamed.equals("0") ? renamed : "a";
      assertThat(listed)
          .containsExactlyInAnyOrderEntriesOf(
              Map.of(
                  inA.getVolumeId(), false,
                  with(renamed, inB), false,
                  with(renamed, shownInB), false,
                  with(renamed, withoutSnapshot), true,
                  with(first, withoutSource), true));
    } finally {
      driver.delete(withoutSnapshot.getVolumeId());
      driver.delete(withoutSource.getVolumeId());
      driver.deleteSnapshot(snapshot);
      driver.deleteSnapshot(alone);
    }
  }

  private static String with(String clusterId, Volume volume) {
    VolumeId id = VolumeId.parse(volume.getVolumeId()).orElseThrow();
    return new VolumeId(clusterId, id.location(), id.uuid()).toString();
  }

  private static List<String> snapshotsOf(Volume source, String clusterId) {
    return driver
        .controller()
        .listSnapshots(
            ListSnapshotsRequest.newBuilder().setSourceVolumeId(with(clusterId, source)).build())
        .getEntriesList()
        .stream()
        .map(entry -> entry.getSnapshot().getSnapshotId())
        .toList();
  }

  @Test
  void theSnapshotsOfAVolumeAreListedByAnyOfItsIds() {
    assertThat(snapshotsOf(inB, "b")).containsExactly(snapshotInB);
    assertThat(snapshotsOf(inA, "a2")).isEmpty();
    String snapshot = snapshot("of-a", inA, "a");
    try {
      assertThat(snapshotsOf(inA, "a2")).containsExactly(snapshot);
      assertThat(snapshotsOf(inA, "a")).containsExactly(snapshot);
    } finally {
      driver.deleteSnapshot(snapshot);
    }
  }

  private static Map<String, String> secretsOfGroup(String user, String group) {
    CephUsers.makeCephFs(CEPH, user, "allow rw tag cephfs *=*", "allow rw path=/volumes/" + group);
    return Map.of("userID", user, "userKey", CEPH.key(user));
  }

  /** The snapshots that a user lists, one on each page. */
  private static List<String> snapshotsBy(Map<String, String> secrets) {
    List<String> ids = new ArrayList<>();
    String token = "";
    do {
      ListSnapshotsResponse page =
          driver
              .controller()
              .listSnapshots(
                  ListSnapshotsRequest.newBuilder()
                      .putAllSecrets(secrets)
                      .setMaxEntries(1)
                      .setStartingToken(token)
                      .build());
      page.getEntriesList().forEach(entry -> ids.add(entry.getSnapshot().getSnapshotId()));
      token = page.getNextToken();
    } while (!token.isEmpty());
    return ids;
  }

  @Test
  void aUserOfOneGroupListsTheSnapshotsOfThat() {
    String user = "lists-" + ID;
    List<String> ofA = new ArrayList<>();
    try {
      for (int i = 0; i < 2; i++) {
        ofA.add(snapshot("listed-" + i, inA, "a"));
      }
      assertThat(snapshotsBy(secretsOfGroup(user + "a", GROUPS.get("a"))))
          .containsExactlyInAnyOrderElementsOf(ofA);
      assertThat(snapshotsBy(secretsOfGroup(user + "b", GROUPS.get("b"))))
          .containsExactly(snapshotInB);
      Map<String, String> ofNone = secretsOfGroup(user + "c", "gc-" + ID);
      assertStatus(Code.PERMISSION_DENIED, () -> snapshotsBy(ofNone));
    } finally {
      ofA.forEach(driver::deleteSnapshot);
      for (String of : List.of("a", "b", "c")) {
        CephUsers.removeCephFs(CEPH, user + of);
      }
    }
  }

  @Test
  void theRoomOfTheClusterCountsOnce() {
    long one =
        driver
            .controller()
            .getCapacity(
                GetCapacityRequest.newBuilder()
                    .putParameters("clusterID", "a")
                    .putParameters("fsName", "cephfs")
                    .build())
            .getAvailableCapacity();
    long all =
        driver
            .controller()
            .getCapacity(GetCapacityRequest.getDefaultInstance())
            .getAvailableCapacity();
    assertThat(all).isBetween(one / 2, one * 3 / 2); // others fill and empty the cluster
  }
}
