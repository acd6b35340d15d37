package io.cephcsi.driver.csiaddons;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.cls.GroupMember;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.testing.ForgedHeaders;
import io.cephcsi.driver.testing.MirrorDaemon;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.testing.TestGroups;
import io.cephcsi.driver.testing.TestReplication;
import io.cephcsi.proto.addons.volumegroup.DeleteVolumeGroupRequest;
import io.cephcsi.proto.addons.volumegroup.VolumeGroup;
import io.cephcsi.proto.csi.v1.Volume;
import io.grpc.Status.Code;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** CSI-Addons' DeleteVolumeGroup. */
class VolumeGroupDeletionIT extends VolumeGroupCase {
  private void assertRefused(String text, String groupId) {
    assertStatus(Code.FAILED_PRECONDITION, text, () -> groups.delete(groupId));
  }

  @Test
  void deletesTheVolumesToo() {
    String a = newVolume();
    String b = newVolume();
    VolumeGroup group = groups.create(newName(), a, b);
    groups.delete(group.getVolumeGroupId());
    assertThat(exists(a)).isFalse();
    assertThat(exists(b)).isFalse();
    assertThat(groups.exists(TestGroups.rbdGroup(group))).isFalse();
    assertThat(POOL.objects())
        .doesNotContain(TestGroups.journalObject(group.getVolumeGroupId()))
        .doesNotContain("csi.volume." + TestGroups.uuid(a));
    groups.delete(group.getVolumeGroupId());
  }

  /** Who may write to a pool may record volumes of any other as members of a group there. */
  @Test
  void volumesOfAnotherPoolStay() {
    String other = CLUSTER.otherPool();
    Volume theirs =
        driver.create(driver.createRequest(newName(), 16 * MIB).putParameters("pool", other));
    String image = other + "/" + TestDriver.image(theirs);
    String entry = "csi.volume." + TestGroups.uuid(theirs.getVolumeId());
    String a = newVolume();
    VolumeGroup group = groups.create(newName(), a);
    String id = group.getVolumeGroupId();
    Omaps omaps = new Omaps(CLUSTER, "rbd", "");
    omaps.set(TestGroups.journalObject(id), theirs.getVolumeId(), "");
    CLUSTER.rbd("group", "image", "add", "rbd/" + TestGroups.rbdGroup(group), image);
    assertRefused("another pool", id);
    assertThat(exists(a)).isTrue();
    CLUSTER.rbd("group", "image", "rm", "rbd/" + TestGroups.rbdGroup(group), image);
    CLUSTER.rados("-p", other, "setomapval", entry, "csi.java.deleting", "2026-01-01T00:00:00Z x");
    groups.delete(id);
    assertThat(exists(a)).isFalse();
    assertThat(new PoolState(CLUSTER, other).images()).contains(TestDriver.image(theirs));
    driver.delete(theirs.getVolumeId());
  }

  /** librbd takes all that a group lists for its members. */
  @Test
  void aGroupThatListsFalselyStaysUntilTheListIsMended() {
    String other = CLUSTER.otherPool();
    String theirs = other + "/" + newName();
    String image = "image-" + UUID.randomUUID();
    CLUSTER.rbd("create", other + "/" + image, "--size", "8M");
    CLUSTER.rbd("group", "create", theirs);
    CLUSTER.rbd("group", "image", "add", theirs, other + "/" + image);
    VolumeGroup group = groups.create(newName(), newVolume());
    String id = group.getVolumeGroupId();
    String groupId = groupId(group);
    String imageId = new PoolState(CLUSTER, other).info(image).path("id").asText();
    ForgedHeaders headers = new ForgedHeaders(CLUSTER, "rbd");
    for (GroupMember member :
        List.of(
            new GroupMember(999_999, "1234567890ab", true),
            new GroupMember(poolId(other), imageId, true))) {
      headers.member(groupId, member);
      assertRefused("rbd_group_header." + groupId, id);
      headers.noMember(groupId, member);
    }
    groups.delete(id);
    assertThat(groups.exists(TestGroups.rbdGroup(group))).isFalse();
    assertThat(CLUSTER.rbd("group", "image", "ls", theirs).strip()).isEqualTo(other + "/" + image);
    CLUSTER.rbd("group", "rm", theirs);
    CLUSTER.rbd("rm", other + "/" + image, "--no-progress");
  }

  @Test
  void whatIsNotThereIsDeleted() {
    groups.delete("no-id");
    groups.delete(NOBODY);
    assertStatus(Code.INVALID_ARGUMENT, "volume_group_id", () -> groups.delete(""));
    assertStatus(
        Code.UNAUTHENTICATED,
        () ->
            driver
                .groups()
                .deleteVolumeGroup(
                    DeleteVolumeGroupRequest.newBuilder().setVolumeGroupId(NOBODY).build()));
  }

  @Test
  void nothingIsDeletedWhileAVolumeIsInUse() {
    String a = newVolume();
    String b = newVolume();
    VolumeGroup group = groups.create(newName(), a, b);
    try (var connection = CLUSTER.connect();
        var io = connection.openPool("rbd");
        var open = new RbdPool(io).open(image(b))) {
      assertThat(open.size()).isEqualTo(16 * MIB);
      assertRefused(b, group.getVolumeGroupId());
    }
    assertThat(groups.members(group.getVolumeGroupId())).containsExactlyInAnyOrder(a, b);
    assertThat(groups.images(TestGroups.rbdGroup(group))).hasSize(2);
    CLUSTER.rbd("snap", "create", "rbd/" + image(a) + "@by-hand", "--no-progress");
    assertRefused("by-hand", group.getVolumeGroupId());
    CLUSTER.rbd("snap", "rm", "rbd/" + image(a) + "@by-hand", "--no-progress");
    assertThat(exists(a)).isTrue();
    groups.delete(group.getVolumeGroupId());
    assertThat(exists(a)).isFalse();
  }

  @Test
  void nothingIsDeletedWhileAVolumeIsACopyOfNoPrimary() {
    String pool = "copies-" + UUID.randomUUID();
    MirrorDaemon.makePool(CLUSTER, pool);
    String a = newVolume(pool);
    String b = newVolume(pool);
    String id =
        driver
            .groups()
            .createVolumeGroup(
                groups.createRequest(newName(), a, b).putParameters("pool", pool).build())
            .getVolumeGroup()
            .getVolumeGroupId();
    TestReplication replication = TestReplication.of(driver);
    replication.enable(b, Map.of());
    replication.demote(b, false);
    assertRefused("follows no primary", id);
    assertThat(exists(a)).isTrue();
    assertThat(groups.members(id)).containsExactlyInAnyOrder(a, b);
    replication.promote(b, false);
    groups.delete(id);
    assertThat(exists(a)).isFalse();
    assertThat(exists(b)).isFalse();
    CLUSTER.ceph("osd", "pool", "rm", pool, pool, "--yes-i-really-really-mean-it");
  }

  private static String newVolume(String pool) {
    return driver
        .create(driver.createRequest(newName(), 16 * MIB).putParameters("pool", pool))
        .getVolumeId();
  }

  @Test
  void nothingIsDeletedWhileTheGroupHasSnapshots() {
    String a = newVolume();
    VolumeGroup group = groups.create(newName(), a);
    String snapshot = "rbd/" + TestGroups.rbdGroup(group) + "@by-hand";
    CLUSTER.rbd("group", "snap", "create", snapshot);
    assertRefused("1 snapshots", group.getVolumeGroupId());
    assertThat(exists(a)).isTrue();
    CLUSTER.rbd("group", "snap", "rm", snapshot);
    groups.delete(group.getVolumeGroupId());
  }

  @Test
  void volumesAreKeptWhereTheConfigurationSaysSo() {
    String a = newVolume();
    VolumeGroup group = groups.create(newName(), a);
    try (TestDriver keeping =
        TestDriver.rbd(CLUSTER)
            .instance(driver.instanceId())
            .withCredentials()
            .keepingVolumes()
            .start()) {
      TestGroups kept = new TestGroups(CLUSTER, keeping);
      assertStatus(
          Code.FAILED_PRECONDITION,
          "remove them from the group first",
          () -> kept.delete(group.getVolumeGroupId()));
      kept.modify(group.getVolumeGroupId());
      kept.delete(group.getVolumeGroupId());
    }
    assertThat(exists(a)).isTrue();
    driver.delete(a);
  }

  @Test
  void aMemberWhoseImageIsGoneDoesNotHinder() {
    String a = newVolume();
    String b = newVolume();
    String c = newVolume();
    VolumeGroup group = groups.create(newName(), a, b, c);
    String id = group.getVolumeGroupId();
    removeImageUnderneath(a);
    CLUSTER.rados("-p", "rbd", "rm", "csi.volume." + TestGroups.uuid(b));
    assertThat(groups.members(id)).containsExactly(c);
    groups.modify(id, c);
    assertThat(POOL.omap(TestGroups.journalObject(id))).containsKey(c).doesNotContainKeys(a, b);
    removeImageUnderneath(c);
    groups.delete(id);
    assertThat(groups.exists(TestGroups.rbdGroup(group))).isFalse();
    driver.delete(a);
    CLUSTER.rbd("rm", "rbd/" + image(b), "--no-progress");
  }

  private void removeImageUnderneath(String volumeId) {
    String image = image(volumeId);
    String imageId = POOL.info(image).path("id").asText();
    for (String object : List.of("rbd_header." + imageId, "rbd_object_map." + imageId)) {
      CLUSTER.rados("-p", "rbd", "rm", object);
    }
    CLUSTER.rados("-p", "rbd", "rm", "rbd_id." + image);
    CLUSTER.rados("-p", "rbd", "rmomapkey", "rbd_directory", "id_" + imageId);
    CLUSTER.rados("-p", "rbd", "rmomapkey", "rbd_directory", "name_" + image);
  }
}
