package io.cephcsi.driver.csi;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static io.cephcsi.driver.testing.TestGroupSnapshots.ids;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.cls.GroupHeader;
import io.cephcsi.bindings.cls.GroupLink;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.ConnectionPool;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.rbd.diff.RbdSnapshotMetadata;
import io.cephcsi.driver.rbd.group.RbdGroupSnapshots;
import io.cephcsi.driver.rbd.parameters.RbdSettings;
import io.cephcsi.driver.rbd.session.RbdSessions;
import io.cephcsi.driver.testing.ForgedHeaders;
import io.cephcsi.driver.testing.ImageContent;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.testing.TestGroupSnapshots;
import io.cephcsi.driver.testing.TestGroups;
import io.cephcsi.driver.volume.Extent;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.addons.volumegroup.VolumeGroup;
import io.cephcsi.proto.csi.v1.CreateVolumeGroupSnapshotRequest;
import io.cephcsi.proto.csi.v1.GetPluginCapabilitiesRequest;
import io.cephcsi.proto.csi.v1.GroupControllerGetCapabilitiesRequest;
import io.cephcsi.proto.csi.v1.GroupControllerServiceCapability;
import io.cephcsi.proto.csi.v1.ListSnapshotsRequest;
import io.cephcsi.proto.csi.v1.PluginCapability;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeGroupSnapshot;
import io.grpc.Status.Code;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** CSI GroupController over the socket. */
class GroupSnapshotIT extends ConformanceCase {
  private static final PoolState POOL = new PoolState(CLUSTER, "rbd");
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final ImageContent CONTENT = new ImageContent(CLUSTER);

  @BeforeAll
  static void start() {
    start(Kind.RBD);
  }

  private static TestGroupSnapshots groups() {
    return new TestGroupSnapshots(driver);
  }

  private static CreateVolumeGroupSnapshotRequest.Builder request(String name, String... volumes) {
    return groups().request(name, volumes);
  }

  private static VolumeGroupSnapshot take(String name, String... volumes) {
    return groups().take(name, volumes);
  }

  private static void deleteGroup(String id, List<String> snapshots) {
    groups().delete(id, snapshots);
  }

  private static void deleteGroup(VolumeGroupSnapshot taken) {
    groups().delete(taken);
  }

  private static VolumeGroupSnapshot get(String id, List<String> snapshots) {
    return groups().get(id, snapshots);
  }

  private static Volume filled(long seed) {
    Volume volume = create();
    CONTENT.write("rbd/" + TestDriver.image(volume), seed);
    return volume;
  }

  private static int checksum(Volume volume) {
    return CONTENT.checksum("rbd/" + TestDriver.image(volume));
  }

  private static void refused(
      Code code, String text, CreateVolumeGroupSnapshotRequest.Builder request) {
    assertStatus(code, text, () -> groups().stub().createVolumeGroupSnapshot(request.build()));
  }

  /** The CO asks again when the answer was lost, and does not know the id. */
  @Test
  void oneOfWhichAVolumeIsDeletedIsStillAnsweredByItsName() {
    Volume gone = create();
    Volume stays = create();
    String name = newName();
    VolumeGroupSnapshot taken = take(name, gone.getVolumeId(), stays.getVolumeId());
    driver.delete(gone.getVolumeId());
    VolumeGroupSnapshot again = take(name, stays.getVolumeId(), gone.getVolumeId());
    assertThat(again.getGroupSnapshotId()).isEqualTo(taken.getGroupSnapshotId());
    assertThat(again.getCreationTime()).isEqualTo(taken.getCreationTime());
    assertThat(again.getSnapshotsList())
        .containsExactlyInAnyOrderElementsOf(taken.getSnapshotsList());
    Volume other = create();
    refused(
        Code.NOT_FOUND, gone.getVolumeId(), request(name, gone.getVolumeId(), other.getVolumeId()));
    refused(
        Code.NOT_FOUND,
        gone.getVolumeId(),
        request(newName(), gone.getVolumeId(), stays.getVolumeId()));
    deleteGroup(taken);
    driver.delete(stays.getVolumeId());
    driver.delete(other.getVolumeId());
  }

  @Test
  void itIsAdvertised() {
    assertThat(
            groups()
                .stub()
                .groupControllerGetCapabilities(
                    GroupControllerGetCapabilitiesRequest.getDefaultInstance())
                .getCapabilitiesList())
        .extracting(capability -> capability.getRpc().getType())
        .containsExactly(
            GroupControllerServiceCapability.RPC.Type.CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT);
    assertThat(
            driver
                .identity()
                .getPluginCapabilities(GetPluginCapabilitiesRequest.getDefaultInstance())
                .getCapabilitiesList())
        .extracting(capability -> capability.getService().getType())
        .contains(PluginCapability.Service.Type.GROUP_CONTROLLER_SERVICE);
  }

  /** Who may write to the pool could have any client of the cluster shut out. */
  @Test
  void anAddressThatNoDriverWroteIsNotShutOut() {
    Volume volume = create();
    VolumeGroupSnapshot taken = take("gs-" + newName(), volume.getVolumeId());
    String id = taken.getGroupSnapshotId();
    String object = "csi.volume.group." + id.substring(id.length() - 36);
    String mark = "csi.java.worker." + UUID.randomUUID();
    try (RadosCluster victim = CLUSTER.connect()) {
      String address = victim.addresses();
      CLUSTER.rados("-p", "rbd", "setxattr", object, mark, address);
      assertStatus(Code.FAILED_PRECONDITION, mark, () -> deleteGroup(taken));
      assertThat(CLUSTER.ceph("osd", "blocklist", "ls"))
          .doesNotContain(address.replaceFirst("^v\\d:", ""));
    }
    CLUSTER.rados("-p", "rbd", "rmxattr", object, mark);
    deleteGroup(taken);
    driver.delete(volume.getVolumeId());
  }

  /** Who may write to a pool chooses the ids of images there, and which group they name. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aGroupThatHasOtherImagesOfTheSameIdsIsNotSnapshotted(boolean groupThere) {
    String other = CLUSTER.otherPool();
    Volume volume = create();
    String id = POOL.info(TestDriver.image(volume)).path("id").asText();
    String twin = "twin-" + UUID.randomUUID();
    new ForgedHeaders(CLUSTER, other).twin(twin, "rbd", id);
    String name = "group-" + UUID.randomUUID();
    String group = (groupThere ? other : "rbd") + "/" + name;
    CLUSTER.rbd("group", "create", group);
    CLUSTER.rbd("group", "image", "add", group, other + "/" + twin);
    GroupLink link;
    try (RadosCluster connection = CLUSTER.connect();
        IoContext io = connection.openPool(other)) {
      link = ImageHeader.read(io, id).flatMap(ImageHeader::group).orElseThrow();
    }
    ForgedHeaders headers = new ForgedHeaders(CLUSTER, "rbd");
    headers.link(true, id, link);
    refused(Code.FAILED_PRECONDITION, group, request("gs-" + newName(), volume.getVolumeId()));
    assertThat(CLUSTER.rbd("group", "snap", "ls", group, "--format", "json").strip())
        .isEqualTo("[]");
    assertThat(new PoolState(CLUSTER, other).snapshots(twin)).isEmpty();
    headers.link(false, id, link);
    CLUSTER.rbd("group", "rm", group);
    CLUSTER.rbd("rm", other + "/" + twin, "--no-progress");
    driver.delete(volume.getVolumeId());
  }

  @Test
  void eachSnapshotOfAGroupIsASnapshotLikeAnyOther() {
    Volume a = filled(1);
    Volume b = filled(2);
    int contentOfA = checksum(a);
    int contentOfB = checksum(b);
    String name = "gs-" + newName();
    VolumeGroupSnapshot taken = take(name, a.getVolumeId(), b.getVolumeId());
    assertThat(taken.getReadyToUse()).isTrue();
    assertThat(taken.getSnapshotsList())
        .hasSize(2)
        .allSatisfy(
            snapshot -> {
              assertThat(snapshot.getReadyToUse()).isTrue();
              assertThat(snapshot.getSizeBytes()).isEqualTo(SIZE);
              assertThat(snapshot.getGroupSnapshotId()).isEqualTo(taken.getGroupSnapshotId());
            })
        .extracting(Snapshot::getSourceVolumeId)
        .containsExactlyInAnyOrder(a.getVolumeId(), b.getVolumeId());
    assertThat(take(name, b.getVolumeId(), a.getVolumeId()).getGroupSnapshotId())
        .isEqualTo(taken.getGroupSnapshotId());
    assertThat(get(taken.getGroupSnapshotId(), ids(taken)).getSnapshotsList())
        .containsExactlyInAnyOrderElementsOf(taken.getSnapshotsList());
    assertRecordedAsCephCsiDoes(name, taken);
    assertNothingIsLeftInGroups(taken, a, b);

    CONTENT.write("rbd/" + TestDriver.image(a), 3);
    Map<String, Integer> expected =
        Map.of(a.getVolumeId(), contentOfA, b.getVolumeId(), contentOfB);
    List<Volume> restored = new ArrayList<>();
    for (Snapshot snapshot : taken.getSnapshotsList()) {
      assertThat(
              controller()
                  .listSnapshots(
                      ListSnapshotsRequest.newBuilder()
                          .setSnapshotId(snapshot.getSnapshotId())
                          .build())
                  .getEntries(0)
                  .getSnapshot())
          .isEqualTo(snapshot);
      Volume volume = driver.restore(newName(), 0, snapshot.getSnapshotId());
      assertThat(checksum(volume)).isEqualTo(expected.get(snapshot.getSourceVolumeId()));
      restored.add(volume);
      assertStatus(
          Code.INVALID_ARGUMENT,
          taken.getGroupSnapshotId(),
          () -> driver.deleteSnapshot(snapshot.getSnapshotId()));
    }
    driver.delete(a.getVolumeId());
    driver.delete(b.getVolumeId());
    deleteGroup(taken);
    deleteGroup(taken);
    for (Volume volume : restored) {
      CLUSTER.rbd("flatten", "rbd/" + TestDriver.image(volume), "--no-progress");
      driver.delete(volume.getVolumeId());
    }
    assertStatus(Code.NOT_FOUND, () -> get(taken.getGroupSnapshotId(), ids(taken)));
  }

  private static void assertRecordedAsCephCsiDoes(String name, VolumeGroupSnapshot taken) {
    UUID uuid = TestGroups.uuid(taken.getGroupSnapshotId());
    assertThat(POOL.omap("csi.groups." + driver.instanceId()))
        .containsEntry("csi.volume.group." + name, uuid.toString());
    Map<String, String> omap = POOL.omap("csi.volume.group." + uuid);
    assertThat(omap.remove("csi.creationtime")).isNotBlank();
    assertThat(omap.remove("csi.volname")).isEqualTo(name);
    assertThat(omap.remove("csi.groupname")).isEqualTo("csi-vol-group-" + uuid);
    assertThat(omap.keySet()).containsExactlyInAnyOrderElementsOf(ids(taken));
    for (String id : ids(taken)) {
      assertThat(omap).containsEntry(id, "csi-snap-" + TestGroups.uuid(id));
      assertThat(POOL.omap("csi.snap." + TestGroups.uuid(id)))
          .containsEntry("csi.groupid", taken.getGroupSnapshotId());
    }
  }

  private static void assertNothingIsLeftInGroups(VolumeGroupSnapshot taken, Volume... volumes) {
    assertThat(POOL.groups())
        .doesNotContain("csi-vol-group-" + TestGroups.uuid(taken.getGroupSnapshotId()));
    for (Volume volume : volumes) {
      POOL.snapshots(TestDriver.image(volume))
          .forEach(
              snapshot ->
                  assertThat(snapshot.path("namespace").path("type").asText()).isEqualTo("trash"));
    }
  }

  @Test
  void volumesOfAVolumeGroupAreTakenTogetherButNotWithOthers() {
    TestGroups volumeGroups = new TestGroups(CLUSTER, driver);
    String a = create().getVolumeId();
    String b = create().getVolumeId();
    String c = create().getVolumeId();
    VolumeGroup group = volumeGroups.create("group-" + UUID.randomUUID(), a, b);
    refused(Code.FAILED_PRECONDITION, group.getVolumeGroupId(), request(newName(), a, c));
    refused(Code.FAILED_PRECONDITION, group.getVolumeGroupId(), request(newName(), a));
    VolumeGroupSnapshot taken = take("gs-" + newName(), a, b);
    assertThat(taken.getSnapshotsCount()).isEqualTo(2);
    assertThat(volumeGroups.members(group.getVolumeGroupId())).containsExactlyInAnyOrder(a, b);
    assertThat(volumeGroups.images(TestGroups.rbdGroup(group))).hasSize(2);
    refused(
        Code.ALREADY_EXISTS,
        "volume group",
        request(
            POOL.omap(TestGroups.journalObject(group.getVolumeGroupId())).get("csi.volname"), c));
    volumeGroups.delete(group.getVolumeGroupId());
    deleteGroup(taken);
    driver.delete(c);
  }

  @Test
  void whatIsWrongIsSaid() {
    String a = create().getVolumeId();
    String b = create().getVolumeId();
    refused(Code.INVALID_ARGUMENT, "name", request("", a));
    refused(Code.INVALID_ARGUMENT, "source_volume_ids", request(newName()));
    refused(Code.NOT_FOUND, "no-id", request(newName(), "no-id"));
    VolumeId id = VolumeId.parse(a).orElseThrow();
    String nobody = new VolumeId(id.clusterId(), id.location(), new UUID(7, 7)).toString();
    refused(Code.NOT_FOUND, nobody, request(newName(), a, nobody));
    String elsewhere = new VolumeId(id.clusterId(), id.location() + 1, id.uuid()).toString();
    refused(Code.FAILED_PRECONDITION, elsewhere, request(newName(), a, elsewhere));
    refused(
        Code.INVALID_ARGUMENT,
        "native",
        request(newName(), a).putParameters("snapshotMode", "native"));
    refused(
        Code.INVALID_ARGUMENT,
        "clusterID",
        request(newName(), a).putParameters("clusterID", "other"));
    refused(
        Code.INVALID_ARGUMENT,
        "pool",
        request(newName(), a).putParameters("pool", CLUSTER.otherPool()));
    refused(Code.UNAUTHENTICATED, "", request(newName(), a).clearSecrets());
    String object = "csi.volume." + VolumeId.parse(b).orElseThrow().uuid();
    CLUSTER.rados("-p", "rbd", "setomapval", object, "csi.volume.encryptKMS", "a-kms");
    refused(Code.FAILED_PRECONDITION, "KMS a-kms is not configured", request(newName(), a, b));
    CLUSTER.rados("-p", "rbd", "rmomapkey", object, "csi.volume.encryptKMS");
    String name = "gs-" + newName();
    VolumeGroupSnapshot taken = take(name, a);
    refused(Code.ALREADY_EXISTS, name, request(name, a, b));
    refused(Code.ALREADY_EXISTS, name, request(name, b));
    List<String> wrong = List.of(NOBODY);
    assertStatus(
        Code.INVALID_ARGUMENT,
        "snapshot_ids",
        () -> deleteGroup(taken.getGroupSnapshotId(), wrong));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "snapshot_ids",
        () -> deleteGroup(taken.getGroupSnapshotId(), List.of()));
    List<String> foreign = List.of("no-id");
    assertStatus(
        Code.INVALID_ARGUMENT,
        "snapshot_ids",
        () -> deleteGroup(taken.getGroupSnapshotId(), foreign));
    assertStatus(
        Code.INVALID_ARGUMENT, "snapshot_ids", () -> get(taken.getGroupSnapshotId(), foreign));
    assertStatus(
        Code.INVALID_ARGUMENT, "snapshot_ids", () -> get(taken.getGroupSnapshotId(), wrong));
    assertStatus(Code.INVALID_ARGUMENT, "group_snapshot_id", () -> deleteGroup("", wrong));
    assertStatus(Code.NOT_FOUND, NOBODY, () -> get(NOBODY, wrong));
    deleteGroup("no-id", wrong);
    deleteGroup(NOBODY, wrong);
    deleteGroup(taken);
    deleteGroup(taken.getGroupSnapshotId(), foreign);
    assertStatus(
        Code.NOT_FOUND, taken.getGroupSnapshotId(), () -> get(taken.getGroupSnapshotId(), foreign));
    driver.delete(a);
    driver.delete(b);
  }

  @Test
  void ofAVolumeThatHasAnotherImageByNowItIsTakenToo() {
    Volume volume = filled(1);
    int content = checksum(volume);
    String image = "rbd/" + TestDriver.image(volume);
    CLUSTER.rbd("mv", image, image + "-old");
    CLUSTER.rbd("cp", image + "-old", image, "--no-progress");
    CLUSTER.rbd("rm", image + "-old", "--no-progress");
    VolumeGroupSnapshot taken = take("gs-" + newName(), volume.getVolumeId());
    Volume restored = driver.restore(newName(), 0, taken.getSnapshots(0).getSnapshotId());
    assertThat(checksum(restored)).isEqualTo(content);
    driver.delete(restored.getVolumeId());
    deleteGroup(taken);
    driver.delete(volume.getVolumeId());
  }

  /** A client that takes its time reads what a snapshot has. */
  /** The cluster takes a part late, when the call that asked for it has ended. */
  @Test
  void aPartOfASnapshotThatNoGroupHasKeepsNoVolume() {
    Volume volume = create();
    String image = TestDriver.image(volume);
    String name = "administrator-" + newName();
    CLUSTER.rbd("group", "create", "rbd/" + name);
    CLUSTER.rbd("group", "image", "add", "rbd/" + name, "rbd/" + image);
    CLUSTER.rbd("group", "snap", "create", "rbd/" + name + "@taken");
    CLUSTER.rbd("group", "image", "rm", "rbd/" + name, "rbd/" + image);
    assertStatus(
        Code.FAILED_PRECONDITION,
        "has snapshots that were not taken through CSI",
        () -> driver.controller().deleteVolume(delete(volume.getVolumeId()).build()));
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool("rbd");
        WriteOperation write = new WriteOperation()) {
      write.remove();
      io.operate("rbd_group_header." + GroupHeader.id(io, name).orElseThrow(), write);
    }
    driver.controller().deleteVolume(delete(volume.getVolumeId()).build());
    assertThat(POOL.images()).doesNotContain(image);
  }

  @Test
  void aSnapshotThatIsReadStaysWithItsGroup() throws IOException {
    Volume a = filled(1);
    VolumeGroupSnapshot taken = take("gs-" + newName(), a.getVolumeId());
    VolumeId group = VolumeId.parse(taken.getGroupSnapshotId()).orElseThrow();
    VolumeId snapshot = VolumeId.parse(ids(taken).get(0)).orElseThrow();
    ClusterDirectory clusters =
        new ClusterDirectory(
            TestDriver.clustersFile(CLUSTER, Files.createTempDirectory("clusters")));
    OperationRegistry operations = new OperationRegistry(PATIENCE);
    RbdSettings settings = RbdSettings.of(driver.instanceId());
    try (ConnectionPool connections = new ConnectionPool(PATIENCE, PATIENCE);
        ClusterExecutors executors = new ClusterExecutors(clusters, 1, 1);
        RbdSessions sessions =
            new RbdSessions(clusters, connections, executors, operations, settings)) {
      RbdGroupSnapshots snapshots = new RbdGroupSnapshots(sessions);
      Credentials user = Storage.RBD.credentials(driver.secrets());
      Set<String> members = Set.copyOf(ids(taken));
      List<Extent> read = new ArrayList<>();
      new RbdSnapshotMetadata(sessions)
          .allocated(
              snapshot,
              user,
              new Extent.Request(
                  0,
                  1,
                  (capacity, extents) -> {
                    assertThatThrownBy(() -> snapshots.delete(group, members, user))
                        .isInstanceOfSatisfying(
                            VolumeException.class,
                            e -> assertThat(e.reason()).isEqualTo(VolumeException.Reason.ABORTED));
                    read.addAll(extents);
                  }));
      assertThat(read).hasSize(2);
      snapshots.delete(group, members, user);
    }
    assertStatus(Code.NOT_FOUND, () -> get(taken.getGroupSnapshotId(), ids(taken)));
    driver.delete(a.getVolumeId());
  }

  /**
   * A writer puts rising numbers into one volume after the other: no cut shows a later one alone.
   */
  @Test
  void theSnapshotsAreOfOnePointInTime() throws Exception {
    Volume a = create();
    Volume b = create();
    ExecutorService writer = Executors.newSingleThreadExecutor();
    AtomicBoolean done = new AtomicBoolean();
    try (var connection = CLUSTER.connect();
        var io = connection.openPool("rbd");
        var first = new RbdPool(io).open(TestDriver.image(a));
        var second = new RbdPool(io).open(TestDriver.image(b))) {
      Future<Long> written =
          writer.submit(
              () -> {
                long number = 0;
                while (!done.get()) {
                  number++;
                  first.write(0, ByteBuffer.allocate(512).putLong(number).array());
                  first.flush();
                  second.write(0, ByteBuffer.allocate(512).putLong(number).array());
                  second.flush();
                }
                return number;
              });
      for (int i = 0; i < 4; i++) {
        VolumeGroupSnapshot taken = take("gs-" + newName(), a.getVolumeId(), b.getVolumeId());
        long inA = 0;
        long inB = 0;
        for (Snapshot snapshot : taken.getSnapshotsList()) {
          String image = "csi-snap-" + TestGroups.uuid(snapshot.getSnapshotId());
          try (var open = new RbdPool(io).openReadOnly(image, image)) {
            long number = ByteBuffer.wrap(open.read(0, 8)).getLong();
            if (snapshot.getSourceVolumeId().equals(a.getVolumeId())) {
              inA = number;
            } else {
              inB = number;
            }
          }
        }
        assertThat(inA - inB).as("%d in the first, %d in the second", inA, inB).isBetween(0L, 1L);
        deleteGroup(taken);
      }
      done.set(true);
      assertThat(written.get()).isPositive();
    } finally {
      done.set(true);
      writer.shutdownNow();
    }
    driver.delete(a.getVolumeId());
    driver.delete(b.getVolumeId());
  }

  /** csi-snapshotter sends none unless the class names them, by a key of its own. */
  @Test
  void oneIsAskedForWithTheCredentialsOfTheDriver() {
    Volume volume = create();
    VolumeGroupSnapshot taken = groups().take("gs-" + newName(), volume.getVolumeId());
    String id = taken.getGroupSnapshotId();
    assertThat(groups().get(id, ids(taken), Map.of())).isEqualTo(taken);
    try (TestDriver without = Kind.RBD.start(CLUSTER, driver.instanceId(), false)) {
      TestGroupSnapshots other = new TestGroupSnapshots(without);
      assertStatus(Code.UNAUTHENTICATED, () -> other.get(id, ids(taken), Map.of()));
      assertThat(other.get(id, ids(taken))).isEqualTo(taken);
    }
    groups().delete(taken);
    driver.delete(volume.getVolumeId());
  }
}
