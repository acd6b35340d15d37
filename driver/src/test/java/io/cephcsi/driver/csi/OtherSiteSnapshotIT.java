package io.cephcsi.driver.csi;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.testing.TestGroupSnapshots;
import io.cephcsi.driver.testing.TestGroups;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.addons.volumegroup.CreateVolumeGroupRequest;
import io.cephcsi.proto.addons.volumegroup.VolumeGroup;
import io.cephcsi.proto.csi.v1.CreateVolumeGroupSnapshotRequest;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeGroupSnapshot;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Snapshots, clones and groups where the caller knows things by their ids of another site. */
class OtherSiteSnapshotIT {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final long MIB = 1L << 20;
  private static final long POOL_THERE = 7_778;
  private static final byte[] DATA = {7, 8, 9};

  @RegisterExtension
  static final TestDriver DRIVER = TestDriver.rbd(CLUSTER).withCredentials().start();

  private static final PoolState IN_OTHER_POOL = new PoolState(CLUSTER, CLUSTER.otherPool());

  private final TestGroups groups = new TestGroups(CLUSTER, DRIVER);
  private final TestGroupSnapshots groupSnapshots = new TestGroupSnapshots(DRIVER);
  private final Volume volume = DRIVER.create(name(), 16 * MIB);

  private static String name() {
    return "thing-" + UUID.randomUUID();
  }

  private static Path mapping() {
    return DRIVER.folder().resolve("cluster-mapping.json");
  }

  @AfterEach
  void unmap() throws IOException {
    Files.deleteIfExists(mapping());
    DRIVER.delete(volume.getVolumeId());
  }

  private static VolumeId parse(String id) {
    return VolumeId.parse(id).orElseThrow();
  }

  private static String there(String clusterId, String id) {
    return new VolumeId(clusterId, POOL_THERE, parse(id).uuid()).toString();
  }

  private void map(String clusterId) throws IOException {
    map(clusterId, POOL_THERE);
  }

  private void map(String clusterId, long pool) throws IOException {
    Files.writeString(
        mapping(),
        """
        [{"clusterIDMapping": {"%s": "%s"}, "RBDPoolIDMapping": [{"%d": "%d"}]}]
        """
            .formatted(
                clusterId, TestDriver.CLUSTER_ID, pool, parse(volume.getVolumeId()).location()));
  }

  private static byte[] content(String image) {
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool(CLUSTER.pool());
        RbdImage open = new RbdPool(io).openReadOnly(image)) {
      return open.read(0, DATA.length);
    }
  }

  private void write() {
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool(CLUSTER.pool());
        RbdImage open = new RbdPool(io).open(TestDriver.image(volume))) {
      open.write(0, DATA);
    }
  }

  private static boolean exists(String image) {
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool(CLUSTER.pool())) {
      return new RbdPool(io).list().stream().anyMatch(each -> each.name().equals(image));
    }
  }

  /** By an id of a cluster that is not configured, and of one whose pools have other ids. */
  @ParameterizedTest
  @ValueSource(strings = {"lost-site", TestDriver.CLUSTER_ID})
  void aVolumeOfTheOtherSiteIsCopied(String clusterId) throws IOException {
    write();
    String id = there(clusterId, volume.getVolumeId());
    String name = name();
    assertStatus(
        clusterId.equals("lost-site") ? Code.INVALID_ARGUMENT : Code.NOT_FOUND,
        () -> DRIVER.snapshot(name, id));
    map(clusterId);
    Snapshot snapshot = DRIVER.snapshot(name, id);
    assertThat(snapshot.getSourceVolumeId()).isEqualTo(id);
    assertThat(parse(snapshot.getSnapshotId()).clusterId()).isEqualTo(TestDriver.CLUSTER_ID);
    assertThat(parse(snapshot.getSnapshotId()).location())
        .isEqualTo(parse(volume.getVolumeId()).location()); // it is of this site
    assertThat(DRIVER.snapshot(name, id)).isEqualTo(snapshot);
    Volume restored = DRIVER.restore(name(), 16 * MIB, snapshot.getSnapshotId());
    assertThat(content(TestDriver.image(restored))).isEqualTo(DATA);

    String copyName = name();
    Volume copy = DRIVER.copy(copyName, 16 * MIB, id);
    assertThat(content(TestDriver.image(copy))).isEqualTo(DATA);
    assertThat(DRIVER.copy(copyName, 16 * MIB, id).getVolumeId()).isEqualTo(copy.getVolumeId());
    DRIVER.delete(id);
    assertThat(DRIVER.snapshot(name, id)).isEqualTo(snapshot); // its volume is gone
    List.of(restored, copy).forEach(made -> DRIVER.delete(made.getVolumeId()));
    DRIVER.deleteSnapshot(snapshot.getSnapshotId());
  }

  /** As after the cluster got another clusterID: what is in its journal is found. */
  @ParameterizedTest
  @ValueSource(strings = {"lost-site", TestDriver.CLUSTER_ID})
  void aSnapshotOfTheOtherSiteIsFoundByTheMapping(String clusterId) throws IOException {
    write();
    Snapshot snapshot = DRIVER.snapshot(name(), volume.getVolumeId());
    String id = there(clusterId, snapshot.getSnapshotId());
    String name = name();
    assertStatus(
        clusterId.equals("lost-site") ? Code.INVALID_ARGUMENT : Code.NOT_FOUND,
        () -> DRIVER.restore(name, 16 * MIB, id));
    map(clusterId);
    Volume restored = DRIVER.restore(name, 16 * MIB, id);
    assertThat(content(TestDriver.image(restored))).isEqualTo(DATA);
    assertThat(DRIVER.restore(name, 16 * MIB, id).getVolumeId()).isEqualTo(restored.getVolumeId());
    DRIVER.delete(restored.getVolumeId());
    DRIVER.deleteSnapshot(id);
    assertThat(exists(TestDriver.image(snapshot))).isFalse();
    DRIVER.deleteSnapshot(id); // again
    DRIVER.deleteSnapshot(snapshot.getSnapshotId());
  }

  /** Snapshots are not mirrored: what only the other site has does not exist here. */
  @Test
  void whatOnlyTheOtherSiteHasIsNotHere() throws IOException {
    String id = new VolumeId("lost-site", POOL_THERE, UUID.randomUUID()).toString();
    assertStatus(Code.FAILED_PRECONDITION, "lost-site", () -> DRIVER.deleteSnapshot(id));
    map("lost-site");
    assertStatus(Code.NOT_FOUND, id, () -> DRIVER.restore(name(), 16 * MIB, id));
    assertStatus(Code.NOT_FOUND, id, () -> DRIVER.snapshot(name(), id));
    DRIVER.deleteSnapshot(id);
    Files.writeString(mapping(), "[{\"clusterIDMapping\": 1}]");
    assertStatus(Code.FAILED_PRECONDITION, "cluster-mapping.json", () -> DRIVER.deleteSnapshot(id));
  }

  @Test
  void anImageOfASnapshotWithoutAnEntryIsNotDeleted() throws IOException {
    map("lost-site");
    Snapshot snapshot = DRIVER.snapshot(name(), volume.getVolumeId());
    String id = there("lost-site", snapshot.getSnapshotId());
    Omaps journal = new Omaps(CLUSTER, CLUSTER.pool(), "");
    String entry = "csi.snap." + parse(id).uuid();
    Map<String, String> keys = journal.of(entry);
    journal.remove(entry);
    assertStatus(Code.FAILED_PRECONDITION, "no journal entry", () -> DRIVER.deleteSnapshot(id));
    assertThat(exists(TestDriver.image(snapshot))).isTrue();
    journal.put(Map.of(entry, keys));
    DRIVER.deleteSnapshot(id);
    assertThat(exists(TestDriver.image(snapshot))).isFalse();
  }

  @Test
  void groupsOfTheOtherSiteAreNotHere() throws IOException {
    String id = new VolumeId("lost-site", POOL_THERE, UUID.randomUUID()).toString();
    assertStatus(Code.FAILED_PRECONDITION, "lost-site", () -> groups.delete(id));
    assertStatus(
        Code.FAILED_PRECONDITION, "lost-site", () -> groupSnapshots.delete(id, List.of(id)));
    map("lost-site");
    assertStatus(Code.NOT_FOUND, id, () -> groups.get(id));
    assertStatus(Code.NOT_FOUND, id, () -> groups.modify(id));
    assertStatus(Code.NOT_FOUND, id, () -> groupSnapshots.get(id, List.of(id)));
    groups.delete(id);
    groupSnapshots.delete(id, List.of(id));
  }

  @Test
  void volumesOfTheOtherSiteAreNotPutIntoGroups() throws IOException {
    map("lost-site");
    String id = there("lost-site", volume.getVolumeId());
    assertStatus(Code.INVALID_ARGUMENT, id, () -> groups.create(name(), id));
    VolumeGroup group = groups.create(name());
    assertStatus(Code.INVALID_ARGUMENT, id, () -> groups.modify(group.getVolumeGroupId(), id));
    assertStatus(Code.INVALID_ARGUMENT, id, () -> groupSnapshots.take(name(), id));
    groups.delete(there("lost-site", group.getVolumeGroupId())); // by the mapping
    assertThat(groups.exists(TestGroups.rbdGroup(group))).isFalse();
    VolumeGroupSnapshot taken = groupSnapshots.take(name(), volume.getVolumeId());
    groupSnapshots.delete(
        there("lost-site", taken.getGroupSnapshotId()), TestGroupSnapshots.ids(taken));
    assertStatus(
        Code.NOT_FOUND,
        () -> groupSnapshots.get(taken.getGroupSnapshotId(), TestGroupSnapshots.ids(taken)));
  }

  /** As after a failover, when the number of their pool is that of another pool here. */
  @Test
  void volumesThatTheMappingLeadsToAreNotTakenTogetherWithThePoolOfTheirIds() throws IOException {
    long other;
    Set<String> before = IN_OTHER_POOL.everything();
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool(CLUSTER.otherPool())) {
      other = io.poolId();
    }
    map(TestDriver.CLUSTER_ID, other);
    String id = new VolumeId(TestDriver.CLUSTER_ID, other, parse(volume.getVolumeId()).uuid()) + "";
    assertThat(DRIVER.expand(id, 32 * MIB)).isEqualTo(32 * MIB);
    assertStatus(Code.INVALID_ARGUMENT, id, () -> groupSnapshots.take(name(), id));
    CreateVolumeGroupRequest.Builder request =
        groups.createRequest(name(), id).putParameters("pool", CLUSTER.otherPool());
    assertStatus(
        Code.INVALID_ARGUMENT, id, () -> DRIVER.groups().createVolumeGroup(request.build()));
    assertThat(IN_OTHER_POOL.left(before)).isEmpty();
    assertThat(IN_OTHER_POOL.keys("csi.groups.default")).isEmpty();
    assertThat(IN_OTHER_POOL.keys("csi.snaps.default")).isEmpty();
    VolumeGroup group =
        DRIVER.groups().createVolumeGroup(request.clearVolumeIds().build()).getVolumeGroup();
    assertStatus(Code.INVALID_ARGUMENT, id, () -> groups.modify(group.getVolumeGroupId(), id));
    assertThat(groups.members(group.getVolumeGroupId())).isEmpty();
    groups.delete(group.getVolumeGroupId());
    assertThat(IN_OTHER_POOL.left(before)).isEmpty();
  }

  /** By a class that names no cluster, of a cluster or a pool that is not here. */
  @ParameterizedTest
  @ValueSource(strings = {"lost-site", TestDriver.CLUSTER_ID})
  void volumesOfAPoolThatIsNotHereAreNotTakenTogether(String clusterId) throws IOException {
    String id = there(clusterId, volume.getVolumeId());
    CreateVolumeGroupSnapshotRequest request =
        groupSnapshots.request(name(), id).removeParameters("clusterID").build();
    assertStatus(
        Code.NOT_FOUND, id, () -> groupSnapshots.stub().createVolumeGroupSnapshot(request));
    map(clusterId);
    assertStatus(
        Code.INVALID_ARGUMENT, id, () -> groupSnapshots.stub().createVolumeGroupSnapshot(request));
  }
}
