package io.cephcsi.driver.csiaddons;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.rbd.group.RbdGroups;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.testing.TestGroups;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.addons.volumegroup.CreateVolumeGroupRequest;
import io.cephcsi.proto.addons.volumegroup.VolumeGroup;
import io.cephcsi.proto.csi.v1.Volume;
import io.grpc.Status.Code;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** CSI-Addons' CreateVolumeGroup. */
class VolumeGroupCreationIT extends VolumeGroupCase {
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
            .create(
                driver
                    .createRequest(newName(), 16 * MIB)
                    .putParameters("pool", CLUSTER.otherPool()))
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
