package io.cephcsi.driver.testing;

import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.addons.volumegroup.ControllerGetVolumeGroupRequest;
import io.cephcsi.proto.addons.volumegroup.CreateVolumeGroupRequest;
import io.cephcsi.proto.addons.volumegroup.DeleteVolumeGroupRequest;
import io.cephcsi.proto.addons.volumegroup.ListVolumeGroupsRequest;
import io.cephcsi.proto.addons.volumegroup.ModifyVolumeGroupMembershipRequest;
import io.cephcsi.proto.addons.volumegroup.VolumeGroup;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.TestCluster;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;

/**
 * The volume groups of a driver, as their CO sees them, and as the command line, the independent
 * client, sees them.
 *
 * @param cluster the cluster
 * @param driver the driver
 */
public record TestGroups(TestCluster cluster, TestDriver driver) {
  /** A request for a group of volumes in the pool of tests. */
  public CreateVolumeGroupRequest.Builder createRequest(String name, String... volumeIds) {
    return CreateVolumeGroupRequest.newBuilder()
        .setName(name)
        .putParameters("clusterID", TestDriver.CLUSTER_ID)
        .putParameters("pool", cluster.pool())
        .addAllVolumeIds(List.of(volumeIds))
        .putAllSecrets(driver.secrets());
  }

  /** Makes a group. */
  public VolumeGroup create(String name, String... volumeIds) {
    return driver
        .groups()
        .createVolumeGroup(createRequest(name, volumeIds).build())
        .getVolumeGroup();
  }

  /** A request that makes these the members. */
  public ModifyVolumeGroupMembershipRequest.Builder modifyRequest(
      String groupId, String... volumeIds) {
    return ModifyVolumeGroupMembershipRequest.newBuilder()
        .setVolumeGroupId(groupId)
        .addAllVolumeIds(List.of(volumeIds))
        .putAllSecrets(driver.secrets());
  }

  /** Makes these the members. */
  public VolumeGroup modify(String groupId, String... volumeIds) {
    return driver
        .groups()
        .modifyVolumeGroupMembership(modifyRequest(groupId, volumeIds).build())
        .getVolumeGroup();
  }

  /** Deletes a group with its volumes. */
  @SuppressWarnings("CheckReturnValue")
  public void delete(String groupId) {
    driver
        .groups()
        .deleteVolumeGroup(
            DeleteVolumeGroupRequest.newBuilder()
                .setVolumeGroupId(groupId)
                .putAllSecrets(driver.secrets())
                .build());
  }

  /** A group. */
  public VolumeGroup get(String groupId) {
    return driver
        .groups()
        .controllerGetVolumeGroup(
            ControllerGetVolumeGroupRequest.newBuilder()
                .setVolumeGroupId(groupId)
                .putAllSecrets(driver.secrets())
                .build())
        .getVolumeGroup();
  }

  /** A request for a page of all groups. */
  public static ListVolumeGroupsRequest listRequest(int max, String token) {
    return ListVolumeGroupsRequest.newBuilder().setMaxEntries(max).setStartingToken(token).build();
  }

  /** The ids of a group's members. */
  public static Set<String> members(VolumeGroup group) {
    Set<String> ids = new TreeSet<>();
    group.getVolumesList().stream().map(Volume::getVolumeId).forEach(ids::add);
    return ids;
  }

  /** The ids of the members of a group, as asked now. */
  public Set<String> members(String groupId) {
    return members(get(groupId));
  }

  /** The RBD group of a volume group. */
  public static String rbdGroup(VolumeGroup group) {
    return group.getVolumeGroupContextMap().get("groupName");
  }

  /** The names of the images in an RBD group. */
  public Set<String> images(String rbdGroup) {
    Set<String> images = new TreeSet<>();
    PoolState.json(
            cluster.rbd(
                "group", "image", "list", cluster.pool() + "/" + rbdGroup, "--format", "json"))
        .forEach(image -> images.add(image.path("image").asText()));
    return images;
  }

  /** Whether there is an RBD group. */
  public boolean exists(String rbdGroup) {
    return Arrays.asList(cluster.rbd("group", "list", cluster.pool()).split("\\s+", -1))
        .contains(rbdGroup);
  }

  /** The journal's object of a group. */
  public static String journalObject(String groupId) {
    return "csi.volume.group." + uuid(groupId);
  }

  /** The uuid in an identifier. */
  public static UUID uuid(String id) {
    return VolumeId.parse(id).orElseThrow().uuid();
  }
}
