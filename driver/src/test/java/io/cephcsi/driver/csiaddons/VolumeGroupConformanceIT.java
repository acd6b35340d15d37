package io.cephcsi.driver.csiaddons;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.cls.GroupHeader;
import io.cephcsi.bindings.cls.GroupMember;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.rbd.group.RbdGroups;
import io.cephcsi.driver.testing.ForgedHeaders;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.testing.TestGroups;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.addons.identity.Capability;
import io.cephcsi.proto.addons.identity.GetCapabilitiesRequest;
import io.cephcsi.proto.addons.identity.IdentityGrpc;
import io.cephcsi.proto.addons.volumegroup.ControllerGetVolumeGroupRequest;
import io.cephcsi.proto.addons.volumegroup.CreateVolumeGroupRequest;
import io.cephcsi.proto.addons.volumegroup.DeleteVolumeGroupRequest;
import io.cephcsi.proto.addons.volumegroup.ListVolumeGroupsResponse;
import io.cephcsi.proto.addons.volumegroup.ModifyVolumeGroupMembershipRequest;
import io.cephcsi.proto.addons.volumegroup.VolumeGroup;
import io.cephcsi.proto.csi.v1.ControllerGetVolumeRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.grpc.Status.Code;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The rules of CSI-Addons' VolumeGroup, each row of its tables of errors included, over the socket.
 */
class VolumeGroupConformanceIT extends GroupCase {
  private static final String NOBODY = "0001-000c-test-cluster-0000000000000001-" + new UUID(7, 7);

  private static String nobody() {
    VolumeId some = VolumeId.parse(newVolume()).orElseThrow();
    return new VolumeId(some.clusterId(), some.location(), new UUID(7, 7)).toString();
  }

  private static boolean exists(String volumeId) {
    try {
      return driver
          .controller()
          .controllerGetVolume(
              ControllerGetVolumeRequest.newBuilder().setVolumeId(volumeId).build())
          .hasVolume();
    } catch (io.grpc.StatusRuntimeException e) {
      assertThat(e.getStatus().getCode()).isEqualTo(Code.NOT_FOUND);
      return false;
    }
  }

  private static String groupId(VolumeGroup group) {
    try (var cluster = CLUSTER.connect();
        var io = cluster.openPool("rbd")) {
      return GroupHeader.id(io, TestGroups.rbdGroup(group)).orElseThrow();
    }
  }

  private static long poolId(String pool) {
    try (var cluster = CLUSTER.connect();
        var io = cluster.openPool(pool)) {
      return io.poolId();
    }
  }

  @Nested
  class Capabilities {
    private static List<Capability.VolumeGroup.Type> of(TestDriver driver) {
      return IdentityGrpc.newBlockingStub(driver.channel())
          .getCapabilities(GetCapabilitiesRequest.getDefaultInstance())
          .getCapabilitiesList()
          .stream()
          .filter(Capability::hasVolumeGroup)
          .map(capability -> capability.getVolumeGroup().getType())
          .toList();
    }

    @Test
    void areThoseThatAreServed() {
      Capability.VolumeGroup.Type[] always = {
        Capability.VolumeGroup.Type.VOLUME_GROUP,
        Capability.VolumeGroup.Type.LIMIT_VOLUME_TO_ONE_VOLUME_GROUP,
        Capability.VolumeGroup.Type.MODIFY_VOLUME_GROUP,
        Capability.VolumeGroup.Type.GET_VOLUME_GROUP,
        Capability.VolumeGroup.Type.LIST_VOLUME_GROUPS
      };
      assertThat(of(driver)).containsExactlyInAnyOrder(always);
      try (TestDriver keeping =
          TestDriver.rbd(CLUSTER)
              .instance("keep-" + UUID.randomUUID())
              .withCredentials()
              .keepingVolumes()
              .start()) {
        assertThat(of(keeping))
            .contains(always)
            .contains(Capability.VolumeGroup.Type.DO_NOT_ALLOW_VG_TO_DELETE_VOLUMES);
      }
    }
  }

  @Nested
  class CreateVolumeGroup {
    private void assertRefused(Code code, String text, CreateVolumeGroupRequest.Builder request) {
      assertStatus(code, text, () -> driver.groups().createVolumeGroup(request.build()));
    }

    @Test
    void makesAnEmptyGroupAndGivesItAgain() {
      String name = newName();
      VolumeGroup group = groups.create(name);
      assertThat(group.getVolumesList()).isEmpty();
      assertThat(groups.exists(TestGroups.rbdGroup(group))).isTrue();
      assertThat(groups.create(name)).isEqualTo(group);
      assertThat(groups.get(group.getVolumeGroupId())).isEqualTo(group);
      groups.delete(group.getVolumeGroupId());
    }

    @Test
    void makesAGroupWithVolumesAndRecordsItAsCephCsiDoes() {
      Volume a = volume();
      Volume b = volume();
      String name = newName();
      VolumeGroup group = groups.create(name, b.getVolumeId(), a.getVolumeId(), a.getVolumeId());
      assertThat(group.getVolumesList())
          .extracting(Volume::getVolumeId, Volume::getCapacityBytes)
          .containsExactlyInAnyOrder(
              org.assertj.core.groups.Tuple.tuple(a.getVolumeId(), 16 * MIB),
              org.assertj.core.groups.Tuple.tuple(b.getVolumeId(), 16 * MIB));
      assertThat(group.getVolumes(0).getVolumeContextMap())
          .containsEntry("pool", "rbd")
          .containsKey("imageName");
      String rbdGroup = TestGroups.rbdGroup(group);
      assertThat(groups.images(rbdGroup))
          .containsExactlyInAnyOrder(TestDriver.image(a), TestDriver.image(b));
      UUID uuid = TestGroups.uuid(group.getVolumeGroupId());
      assertThat(POOL.omap("csi.groups." + driver.instanceId()))
          .containsEntry("csi.volume.group." + name, uuid.toString());
      Map<String, String> omap = POOL.omap(TestGroups.journalObject(group.getVolumeGroupId()));
      assertThat(omap.remove("csi.creationtime"))
          .matches("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?Z");
      assertThat(omap)
          .isEqualTo(
              Map.of(
                  "csi.volname",
                  name,
                  "csi.groupname",
                  "csi-vol-group-" + uuid,
                  a.getVolumeId(),
                  "",
                  b.getVolumeId(),
                  ""));
      assertThat(TestGroups.members(groups.create(name, a.getVolumeId(), b.getVolumeId())))
          .isEqualTo(TestGroups.members(group));
      groups.delete(group.getVolumeGroupId());
    }

    @Test
    void aNameHasOneGroup() {
      String name = newName();
      String a = newVolume();
      VolumeGroup group = groups.create(name, a);
      assertRefused(Code.ALREADY_EXISTS, name, groups.createRequest(name));
      assertRefused(Code.ALREADY_EXISTS, name, groups.createRequest(name, a, newVolume()));
      assertRefused(
          Code.ALREADY_EXISTS,
          "volumeNamePrefix",
          groups.createRequest(name, a).putParameters("volumeNamePrefix", "other-"));
      assertRefused(
          Code.ALREADY_EXISTS,
          name,
          groups
              .createRequest(name)
              .putParameters("pool", CLUSTER.otherPool())
              .putParameters("journalPool", CLUSTER.pool()));
      assertThat(groups.members(group.getVolumeGroupId())).containsExactly(a);
      groups.delete(group.getVolumeGroupId());
      VolumeGroup again = groups.create(name);
      assertThat(again.getVolumeGroupId()).isNotEqualTo(group.getVolumeGroupId());
      groups.delete(again.getVolumeGroupId());
    }

    @Test
    void theNameMayBeReservedInAnotherPool() {
      String name = newName();
      CreateVolumeGroupRequest request =
          groups
              .createRequest(name, newVolume())
              .putParameters("journalPool", CLUSTER.otherPool())
              .putParameters("volumeNamePrefix", "mine-")
              .build();
      VolumeGroup group = driver.groups().createVolumeGroup(request).getVolumeGroup();
      assertThat(TestGroups.rbdGroup(group)).startsWith("mine-");
      assertThat(driver.groups().createVolumeGroup(request).getVolumeGroup()).isEqualTo(group);
      assertThat(groups.get(group.getVolumeGroupId())).isEqualTo(group);
      groups.delete(group.getVolumeGroupId());
      assertThat(
              new PoolState(CLUSTER, CLUSTER.otherPool()).keys("csi.groups." + driver.instanceId()))
          .isEmpty();
    }

    @Test
    void whatIsMissingOrUnknownIsInvalid() {
      assertRefused(Code.INVALID_ARGUMENT, "name", groups.createRequest(""));
      assertRefused(Code.INVALID_ARGUMENT, "name", groups.createRequest("n".repeat(129)));
      assertRefused(
          Code.INVALID_ARGUMENT,
          "clusterID",
          groups.createRequest(newName()).removeParameters("clusterID"));
      assertRefused(
          Code.INVALID_ARGUMENT, "pool", groups.createRequest(newName()).removeParameters("pool"));
      assertRefused(
          Code.INVALID_ARGUMENT,
          "no-such-pool",
          groups.createRequest(newName()).putParameters("pool", "no-such-pool"));
      assertRefused(
          Code.INVALID_ARGUMENT,
          "colour",
          groups.createRequest(newName()).putParameters("colour", "blue"));
      assertRefused(
          Code.INVALID_ARGUMENT,
          "clusterID",
          groups.createRequest(newName()).putParameters("clusterID", "c".repeat(65)));
    }

    @Test
    void secretsAreNeeded() {
      assertRefused(Code.UNAUTHENTICATED, "", groups.createRequest(newName()).clearSecrets());
      assertRefused(
          Code.UNAUTHENTICATED,
          "",
          groups.createRequest(newName()).putSecrets("userKey", "AQAAAAAAAAAAAAAAAAAAAAAAAAAA"));
    }

    @Test
    void volumesOfAnotherPoolOrClusterAreInvalid() {
      String name = newName();
      String other =
          driver
              .controller()
              .createVolume(
                  driver
                      .createRequest(newName(), 16 * MIB)
                      .putParameters("pool", CLUSTER.otherPool())
                      .build())
              .getVolume()
              .getVolumeId();
      String mine = newVolume();
      assertRefused(Code.INVALID_ARGUMENT, other, groups.createRequest(name, mine, other));
      VolumeId id = VolumeId.parse(mine).orElseThrow();
      String elsewhere = new VolumeId(TestDriver.IN_NAMESPACE, id.location(), id.uuid()).toString();
      assertRefused(Code.INVALID_ARGUMENT, elsewhere, groups.createRequest(name, elsewhere));
      assertThat(POOL.keys("csi.groups." + driver.instanceId())).noneMatch(k -> k.contains(name));
      driver.delete(other);
      driver.delete(mine);
    }

    @Test
    void volumesMustExistAndBeFree() {
      String name = newName();
      String a = newVolume();
      assertRefused(Code.NOT_FOUND, "no-id", groups.createRequest(name, "no-id"));
      assertRefused(Code.NOT_FOUND, nobody(), groups.createRequest(name, a, nobody()));
      VolumeGroup owner = groups.create(newName(), a);
      String b = newVolume();
      assertRefused(
          Code.FAILED_PRECONDITION, owner.getVolumeGroupId(), groups.createRequest(name, b, a));
      assertThat(POOL.keys("csi.groups." + driver.instanceId())).noneMatch(k -> k.contains(name));
      VolumeGroup of = groups.create(name, b);
      groups.delete(of.getVolumeGroupId());
      groups.delete(owner.getVolumeGroupId());
    }

    @Test
    void thereIsALimitOfMembers() {
      String[] many = new String[RbdGroups.MAX_MEMBERS + 1];
      VolumeId one = VolumeId.parse(newVolume()).orElseThrow();
      for (int i = 0; i < many.length; i++) {
        many[i] = new VolumeId(one.clusterId(), one.location(), new UUID(1, i)).toString();
      }
      assertRefused(
          Code.RESOURCE_EXHAUSTED,
          Integer.toString(RbdGroups.MAX_MEMBERS),
          groups.createRequest(newName(), many));
      driver.delete(one.toString());
    }

    @Test
    void anImageInAGroupThatWasMadeByHandIsNotTaken() {
      String a = newVolume();
      String byHand = "by-hand-" + UUID.randomUUID();
      CLUSTER.rbd("group", "create", "rbd/" + byHand);
      CLUSTER.rbd("group", "image", "add", "rbd/" + byHand, "rbd/" + image(a));
      assertRefused(Code.FAILED_PRECONDITION, byHand, groups.createRequest(newName(), a));
      assertStatus(Code.FAILED_PRECONDITION, byHand, () -> driver.delete(a));
      assertThat(groups.images(byHand)).containsExactly(image(a));
      CLUSTER.rbd("group", "rm", "rbd/" + byHand);
      driver.delete(a);
    }

    @Test
    void whatADriverThatDiedReservedIsCompletedOrTakenOver() {
      String name = newName();
      String a = newVolume();
      UUID uuid = UUID.randomUUID();
      Map<String, Map<String, String>> reserved = new LinkedHashMap<>();
      reserved.put(
          "csi.groups." + driver.instanceId(), Map.of("csi.volume.group." + name, uuid.toString()));
      reserved.put(
          "csi.volume.group." + uuid,
          Map.of(
              "csi.volname",
              name,
              "csi.groupname",
              "csi-vol-group-" + uuid,
              "csi.creationtime",
              "2026-11-20T21:45:49.308569411Z",
              nobody(),
              ""));
      new Omaps(CLUSTER, "rbd", "").put(reserved);
      VolumeGroup group = groups.create(name, a);
      assertThat(TestGroups.uuid(group.getVolumeGroupId())).isEqualTo(uuid);
      assertThat(groups.members(group.getVolumeGroupId())).containsExactly(a);
      groups.delete(group.getVolumeGroupId());
    }
  }

  @Nested
  class ModifyVolumeGroupMembership {
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
            .hasMessageContaining("not a volume group of CSI");
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
  }

  @Nested
  class DeleteVolumeGroup {
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
          driver
              .controller()
              .createVolume(
                  driver.createRequest(newName(), 16 * MIB).putParameters("pool", other).build())
              .getVolume();
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
      CLUSTER.rados(
          "-p", other, "setomapval", entry, "csi.java.deleting", "2026-01-01T00:00:00Z x");
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
      assertThat(CLUSTER.rbd("group", "image", "ls", theirs).strip())
          .isEqualTo(other + "/" + image);
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
            Code.FAILED_PRECONDITION, "take them out", () -> kept.delete(group.getVolumeGroupId()));
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

  @Nested
  class ControllerGetVolumeGroup {
    private void assertRefused(Code code, String text, String groupId) {
      assertStatus(code, text, () -> groups.get(groupId));
    }

    @Test
    void whatIsNotThereIsNotFound() {
      assertRefused(Code.INVALID_ARGUMENT, "volume_group_id", "");
      assertRefused(Code.NOT_FOUND, "no-id", "no-id");
      assertRefused(Code.NOT_FOUND, NOBODY, NOBODY);
      VolumeGroup group = groups.create(newName());
      assertThat(groups.get(group.getVolumeGroupId())).isEqualTo(group);
      assertStatus(
          Code.UNAUTHENTICATED,
          () ->
              driver
                  .groups()
                  .controllerGetVolumeGroup(
                      ControllerGetVolumeGroupRequest.newBuilder()
                          .setVolumeGroupId(group.getVolumeGroupId())
                          .build()));
      groups.delete(group.getVolumeGroupId());
      assertRefused(Code.NOT_FOUND, group.getVolumeGroupId(), group.getVolumeGroupId());
    }
  }

  @Nested
  class ListVolumeGroups {
    private static ListVolumeGroupsResponse page(TestDriver driver, int max, String token) {
      return driver.groups().listVolumeGroups(TestGroups.listRequest(max, token));
    }

    @Test
    void pagesHoldAllGroupsAndNothingElse() {
      try (TestDriver fresh =
          TestDriver.rbd(CLUSTER).instance("list-" + UUID.randomUUID()).withCredentials().start()) {
        TestGroups own = new TestGroups(CLUSTER, fresh);
        assertThat(page(fresh, 0, "").getEntriesList()).isEmpty();
        List<VolumeGroup> all = new ArrayList<>();
        String a = fresh.create(newName(), 16 * MIB).getVolumeId();
        all.add(own.create(newName(), a));
        all.add(own.create(newName()));
        all.add(own.create(newName()));
        putGroupSnapshot(fresh.instanceId(), a);
        putHalfMade(fresh.instanceId());
        putDamaged(fresh.instanceId());
        assertThat(page(fresh, 0, "").getEntriesList())
            .extracting(ListVolumeGroupsResponse.Entry::getVolumeGroup)
            .containsExactlyInAnyOrderElementsOf(all);
        ListVolumeGroupsResponse first = page(fresh, 2, "");
        assertThat(first.getEntriesCount()).isEqualTo(2);
        ListVolumeGroupsResponse second = page(fresh, 2, first.getNextToken());
        assertThat(second.getEntriesCount()).isEqualTo(1);
        assertThat(second.getNextToken()).isEmpty();
        assertThat(
                fresh
                    .groups()
                    .listVolumeGroups(
                        TestGroups.listRequest(0, "").toBuilder()
                            .putAllSecrets(fresh.secrets())
                            .build())
                    .getEntriesCount())
            .isEqualTo(3);
        all.forEach(group -> own.delete(group.getVolumeGroupId()));
        assertThat(page(fresh, 0, "").getEntriesList()).isEmpty();
      }
    }

    /** As ceph-csi records a snapshot of a group: in the same directory. */
    private void putGroupSnapshot(String instance, String volumeId) {
      UUID uuid = UUID.randomUUID();
      String name = newName();
      Map<String, Map<String, String>> recorded = new LinkedHashMap<>();
      recorded.put("csi.groups." + instance, Map.of("csi.volume.group." + name, uuid.toString()));
      recorded.put(
          "csi.volume.group." + uuid,
          Map.of(
              "csi.volname",
              name,
              "csi.groupname",
              "csi-vol-group-" + uuid,
              volumeId,
              "csi-snap-" + UUID.randomUUID()));
      new Omaps(CLUSTER, "rbd", "").put(recorded);
    }

    private void putHalfMade(String instance) {
      Map<String, Map<String, String>> recorded = new LinkedHashMap<>();
      recorded.put(
          "csi.groups." + instance,
          Map.of("csi.volume.group." + newName(), UUID.randomUUID().toString()));
      new Omaps(CLUSTER, "rbd", "").put(recorded);
    }

    private void putDamaged(String instance) {
      Omaps omaps = new Omaps(CLUSTER, "rbd", "");
      for (String name : List.of("g\0", "x".repeat(5000), "a\nb", "")) {
        UUID uuid = UUID.randomUUID();
        omaps.set("csi.groups." + instance, "csi.volume.group." + newName(), uuid.toString());
        omaps.set("csi.volume.group." + uuid, "csi.volname", "v");
        omaps.set("csi.volume.group." + uuid, "csi.groupname", name.getBytes(UTF_8));
      }
    }

    @Test
    void aBadTokenOrNumberIsRefused() {
      assertStatus(Code.ABORTED, "starting_token", () -> page(driver, 1, "nonsense"));
      assertStatus(Code.INVALID_ARGUMENT, "max_entries", () -> page(driver, -1, ""));
    }

    @Test
    void withoutCredentialsTheSecretsAreNeeded() {
      try (TestDriver without = TestDriver.rbd(CLUSTER).start()) {
        assertStatus(Code.UNAUTHENTICATED, () -> page(without, 0, ""));
      }
    }

    @Test
    void aUserWithoutRightsIsUnauthenticatedAndSeesNoEmptyList() {
      String user = "groups-nothing";
      String key =
          CLUSTER.ceph("auth", "get-or-create-key", "client." + user, "mon", "allow r").strip();
      assertStatus(
          Code.UNAUTHENTICATED,
          () ->
              driver
                  .groups()
                  .listVolumeGroups(
                      TestGroups.listRequest(0, "").toBuilder()
                          .putAllSecrets(Map.of("userID", user, "userKey", key))
                          .build()));
    }
  }
}
