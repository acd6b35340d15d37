package io.cephcsi.driver.csiaddons;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.cls.GroupHeader;
import io.cephcsi.bindings.cls.GroupMember;
import io.cephcsi.driver.rbd.group.RbdGroups;
import io.cephcsi.driver.testing.ForgedHeaders;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.TestGroups;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.addons.volumegroup.ModifyVolumeGroupMembershipRequest;
import io.cephcsi.proto.addons.volumegroup.VolumeGroup;
import io.grpc.Status.Code;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** CSI-Addons' ModifyVolumeGroupMembership. */
class VolumeGroupMembershipIT extends VolumeGroupCase {
  private final String a = newVolume();
  private final String b = newVolume();
  private final String c = newVolume();
  private final VolumeGroup group = groups.create(newName(), a, b);
  private final String id = group.getVolumeGroupId();

  private void assertRefused(
      Code code, String text, ModifyVolumeGroupMembershipRequest.Builder request) {
    assertStatus(code, text, () -> driver.groups().modifyVolumeGroupMembership(request.build()));
  }

  private void assertMembers(String... volumeIds) {
    assertThat(groups.members(id)).containsExactlyInAnyOrder(volumeIds);
    assertThat(groups.images(TestGroups.rbdGroup(group)))
        .containsExactlyInAnyOrderElementsOf(
            Set.of(volumeIds).stream().map(GroupCase::image).toList());
  }

  private void deleteAll() {
    groups.delete(id);
    for (String volume : List.of(a, b, c)) {
      driver.delete(volume);
    }
  }

  @Test
  void theGivenSetBecomesTheMembership() {
    assertThat(TestGroups.members(groups.modify(id, b, c))).containsExactlyInAnyOrder(b, c);
    assertMembers(b, c);
    assertThat(TestGroups.members(groups.modify(id, c, b, c))).containsExactlyInAnyOrder(b, c);
    assertThat(groups.modify(id).getVolumesList()).isEmpty();
    assertMembers();
    groups.modify(id, a, b, c);
    assertMembers(a, b, c);
    deleteAll();
  }

  @Test
  void anErrorLeavesTheOldMembership() {
    String foreign = newVolume();
    VolumeGroup other = groups.create(newName(), foreign);
    assertRefused(Code.NOT_FOUND, "no-id", groups.modifyRequest(id, "no-id"));
    assertRefused(Code.NOT_FOUND, nobody(), groups.modifyRequest(id, c, nobody()));
    assertRefused(
        Code.FAILED_PRECONDITION, other.getVolumeGroupId(), groups.modifyRequest(id, c, foreign));
    VolumeId parsed = VolumeId.parse(c).orElseThrow();
    String elsewhere =
        new VolumeId(parsed.clusterId(), parsed.location() + 1, parsed.uuid()).toString();
    assertRefused(Code.INVALID_ARGUMENT, elsewhere, groups.modifyRequest(id, c, elsewhere));
    String[] many = new String[RbdGroups.MAX_MEMBERS + 1];
    for (int i = 0; i < many.length; i++) {
      many[i] = new VolumeId(parsed.clusterId(), parsed.location(), new UUID(1, i)).toString();
    }
    assertRefused(Code.RESOURCE_EXHAUSTED, "500", groups.modifyRequest(id, many));
    assertRefused(Code.UNAUTHENTICATED, "", groups.modifyRequest(id, c).clearSecrets());
    assertMembers(a, b);
    groups.delete(other.getVolumeGroupId());
    deleteAll();
  }

  @Test
  void aGroupThatIsNotThereIsNotFound() {
    assertRefused(Code.INVALID_ARGUMENT, "volume_group_id", groups.modifyRequest("", c));
    assertRefused(Code.NOT_FOUND, "no-id", groups.modifyRequest("no-id", c));
    assertRefused(Code.NOT_FOUND, NOBODY, groups.modifyRequest(NOBODY, c));
    assertRefused(Code.NOT_FOUND, a, groups.modifyRequest(a, c));
    deleteAll();
  }

  @Test
  void aMemberCannotBeDeletedAlone() {
    assertStatus(Code.FAILED_PRECONDITION, id, () -> driver.delete(a));
    assertThat(exists(a)).isTrue();
    groups.modify(id, b);
    driver.delete(a);
    assertThat(exists(a)).isFalse();
    assertMembers(b);
    deleteAll();
  }

  @Test
  void anImageThatADriverThatDiedLeftInTheGroupHindersNothing() {
    String d = newVolume();
    for (String left : List.of(c, d)) {
      CLUSTER.rbd(
          "group", "image", "add", "rbd/" + TestGroups.rbdGroup(group), "rbd/" + image(left));
    }
    assertThat(groups.members(id)).containsExactlyInAnyOrder(a, b);
    driver.delete(c);
    assertThat(exists(c)).isFalse();
    VolumeGroup other = groups.create(newName(), d);
    assertThat(groups.images(TestGroups.rbdGroup(other))).containsExactly(image(d));
    assertMembers(a, b);
    groups.modify(other.getVolumeGroupId());
    CLUSTER.rbd("group", "image", "add", "rbd/" + TestGroups.rbdGroup(group), "rbd/" + image(d));
    groups.modify(id, a, b);
    assertMembers(a, b);
    groups.delete(other.getVolumeGroupId());
    driver.delete(d);
    deleteAll();
  }

  /** Whoever removed the group did not see the image, which was put in at the same time. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void anImageOfAGroupThatHasVanishedCanBeGroupedAndDeleted(boolean headerMadeAnew) {
    List<String> headers = new ArrayList<>();
    String a = newVolume();
    String b = newVolume();
    for (String volume : List.of(a, b)) {
      String vanished = newName();
      CLUSTER.rbd("group", "create", "rbd/" + vanished);
      CLUSTER.rbd("group", "image", "add", "rbd/" + vanished, "rbd/" + image(volume));
      String id;
      try (var cluster = CLUSTER.connect();
          var io = cluster.openPool("rbd")) {
        id = GroupHeader.id(io, vanished).orElseThrow();
      }
      headers.add("rbd_group_header." + id);
      if (!headerMadeAnew) {
        CLUSTER.rados("-p", "rbd", "rm", "rbd_group_header." + id);
      }
      for (String key : List.of("name_" + vanished, "id_" + id)) {
        CLUSTER.rados("-p", "rbd", "rmomapkey", "rbd_group_directory", key);
      }
    }
    if (headerMadeAnew) { // one with snapshots is somebody's
      CLUSTER.rados("-p", "rbd", "setomapval", headers.get(0), "snapshot_1", "x");
      assertThatThrownBy(() -> groups.create(newName(), a))
          .hasMessageContaining("FAILED_PRECONDITION")
          .hasMessageContaining("not a CSI volume group");
      CLUSTER.rados("-p", "rbd", "rmomapkey", headers.get(0), "snapshot_1");
    }
    VolumeGroup group = groups.create(newName(), a);
    assertThat(groups.images(TestGroups.rbdGroup(group))).containsExactly(image(a));
    groups.modify(group.getVolumeGroupId());
    groups.delete(group.getVolumeGroupId());
    driver.delete(a);
    driver.delete(b);
    assertThat(POOL.images()).doesNotContain(image(a), image(b));
    try (var cluster = CLUSTER.connect();
        var io = cluster.openPool("rbd")) {
      assertThat(io.objects()).doesNotContainAnyElementsOf(headers);
    }
  }

  /** Who may write to a pool may list images of any other in a group there. */
  @Test
  void imagesThatAreListedFalselyAreNotTouched() {
    String other = CLUSTER.otherPool();
    PoolState others = new PoolState(CLUSTER, other);
    String theirs = other + "/" + newName();
    Map<String, String> images = new TreeMap<>(); // by id, as a group lists them
    for (int i = 0; i < 2; i++) {
      String image = "image-" + UUID.randomUUID();
      CLUSTER.rbd("create", other + "/" + image, "--size", "8M");
      images.put(others.info(image).path("id").asText(), image);
    }
    String free = images.values().iterator().next();
    String grouped = List.copyOf(images.values()).get(1);
    CLUSTER.rbd("group", "create", theirs);
    CLUSTER.rbd("group", "image", "add", theirs, other + "/" + grouped);
    ForgedHeaders headers = new ForgedHeaders(CLUSTER, "rbd");
    String groupId = groupId(group);
    long poolId = poolId(other);
    List<GroupMember> listed =
        images.keySet().stream().map(i -> new GroupMember(poolId, i, true)).toList();
    listed.forEach(member -> headers.member(groupId, member));
    assertThat(TestGroups.members(groups.modify(id, b, c))).containsExactlyInAnyOrder(b, c);
    assertThat(CLUSTER.rbd("group", "image", "ls", theirs).strip())
        .isEqualTo(other + "/" + grouped);
    headers.noMember(groupId, listed.get(1));
    assertMembers(b, c);
    CLUSTER.rbd("rm", other + "/" + free, "--no-progress");
    CLUSTER.rbd("group", "rm", theirs);
    CLUSTER.rbd("rm", other + "/" + grouped, "--no-progress");
    deleteAll();
  }

  @Test
  void anImageThatIsListedFalselyOfAPoolThatIsGoneIsNoHindrance() {
    String groupId = groupId(group);
    GroupMember nowhere = new GroupMember(999_999, "1234567890ab", true);
    ForgedHeaders headers = new ForgedHeaders(CLUSTER, "rbd");
    headers.member(groupId, nowhere);
    assertThat(TestGroups.members(groups.modify(id, b, c))).containsExactlyInAnyOrder(b, c);
    headers.noMember(groupId, nowhere);
    assertMembers(b, c);
    deleteAll();
  }

  @Test
  void aVolumeThatIsBeingDeletedIsNotGrouped() {
    CLUSTER.rados(
        "-p",
        "rbd",
        "setomapval",
        "csi.volume." + TestGroups.uuid(c),
        "csi.java.deleting",
        "2026-01-01T00:00:00Z x");
    assertRefused(Code.FAILED_PRECONDITION, "being deleted", groups.modifyRequest(id, a, b, c));
    assertMembers(a, b);
    deleteAll();
  }

  /** Its group may be deleted with all members at this moment, by another driver. */
  @Test
  void aVolumeThatIsBeingDeletedIsNotTakenOut() {
    String entry = "csi.volume." + TestGroups.uuid(a);
    Omaps omaps = new Omaps(CLUSTER, "rbd", "");
    omaps.set(entry, "csi.java.deleting", "2026-01-01T00:00:00Z x");
    assertRefused(Code.ABORTED, "being deleted", groups.modifyRequest(id, b));
    assertMembers(a, b);
    omaps.removeKey(entry, "csi.java.deleting");
    assertThat(TestGroups.members(groups.modify(id, b))).containsExactly(b);
    assertMembers(b);
    deleteAll();
  }
}
