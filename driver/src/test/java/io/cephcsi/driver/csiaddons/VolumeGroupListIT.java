package io.cephcsi.driver.csiaddons;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.CephUsers;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.testing.TestGroups;
import io.cephcsi.proto.addons.identity.Capability;
import io.cephcsi.proto.addons.identity.GetCapabilitiesRequest;
import io.cephcsi.proto.addons.identity.IdentityGrpc;
import io.cephcsi.proto.addons.volumegroup.ControllerGetVolumeGroupRequest;
import io.cephcsi.proto.addons.volumegroup.ListVolumeGroupsResponse;
import io.cephcsi.proto.addons.volumegroup.VolumeGroup;
import io.grpc.Status.Code;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** CSI-Addons' ListVolumeGroups and ControllerGetVolumeGroup, and the capabilities of groups. */
class VolumeGroupListIT extends VolumeGroupCase {
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
    String key = CephUsers.keyOfNoPool(CLUSTER, user);
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
