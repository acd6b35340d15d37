package io.cephcsi.driver.csiaddons;

import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.csi.Requests;
import io.cephcsi.driver.grpc.StatusTable.Family;
import io.cephcsi.driver.grpc.UnaryResponse;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.rbd.group.GroupInventory;
import io.cephcsi.driver.rbd.group.RbdGroups;
import io.cephcsi.driver.rbd.parameters.GroupParameters;
import io.cephcsi.driver.volume.CreatedVolume;
import io.cephcsi.driver.volume.ListPage;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.addons.volumegroup.ControllerGetVolumeGroupRequest;
import io.cephcsi.proto.addons.volumegroup.ControllerGetVolumeGroupResponse;
import io.cephcsi.proto.addons.volumegroup.ControllerGrpc;
import io.cephcsi.proto.addons.volumegroup.CreateVolumeGroupRequest;
import io.cephcsi.proto.addons.volumegroup.CreateVolumeGroupResponse;
import io.cephcsi.proto.addons.volumegroup.DeleteVolumeGroupRequest;
import io.cephcsi.proto.addons.volumegroup.DeleteVolumeGroupResponse;
import io.cephcsi.proto.addons.volumegroup.ListVolumeGroupsRequest;
import io.cephcsi.proto.addons.volumegroup.ListVolumeGroupsResponse;
import io.cephcsi.proto.addons.volumegroup.ModifyVolumeGroupMembershipRequest;
import io.cephcsi.proto.addons.volumegroup.ModifyVolumeGroupMembershipResponse;
import io.cephcsi.proto.addons.volumegroup.VolumeGroup;
import io.cephcsi.proto.csi.v1.Volume;
import io.grpc.stub.StreamObserver;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/** CSI-Addons VolumeGroup for RBD: decode, lock, call, encode. */
public final class RbdVolumeGroupService extends ControllerGrpc.ControllerImplBase {
  private static final String ID = "volume_group_id";

  private final RbdGroups groups;
  private final GroupInventory inventory;
  private final OperationRegistry operations;
  private final ClusterExecutors executors;
  private final boolean keepVolumes;

  /**
   * @param groups does the work
   * @param inventory lists
   * @param operations locks names and ids
   * @param executors run what blocks
   * @param keepVolumes whether a group that has volumes is not deleted
   */
  public RbdVolumeGroupService(
      RbdGroups groups,
      GroupInventory inventory,
      OperationRegistry operations,
      ClusterExecutors executors,
      boolean keepVolumes) {
    this.groups = groups;
    this.inventory = inventory;
    this.operations = operations;
    this.executors = executors;
    this.keepVolumes = keepVolumes;
  }

  @Override
  public void createVolumeGroup(
      CreateVolumeGroupRequest request, StreamObserver<CreateVolumeGroupResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI_ADDONS,
        answer -> {
          String name = Requests.required(request.getName(), "name");
          GroupParameters parameters = GroupParameters.parse(request.getParametersMap());
          Set<VolumeId> volumes = volumeIds(request.getVolumeIdsList());
          Credentials user = Storage.RBD.credentials(request.getSecretsMap());
          return operations
              .start(
                  OperationRegistry.groupName(name),
                  "CreateVolumeGroup",
                  executor(parameters.clusterId()),
                  operation -> groups.create(name, parameters, volumes, user))
              .thenApply(
                  group ->
                      CreateVolumeGroupResponse.newBuilder().setVolumeGroup(encode(group)).build());
        });
  }

  @Override
  public void modifyVolumeGroupMembership(
      ModifyVolumeGroupMembershipRequest request,
      StreamObserver<ModifyVolumeGroupMembershipResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI_ADDONS,
        answer -> {
          VolumeId id = groupId(request.getVolumeGroupId());
          Set<VolumeId> volumes = volumeIds(request.getVolumeIdsList());
          Credentials user = Storage.RBD.credentials(request.getSecretsMap());
          return operations
              .start(
                  id.toString(),
                  "ModifyVolumeGroupMembership",
                  executor(id.clusterId()),
                  operation -> groups.modify(id, volumes, user))
              .thenApply(
                  group ->
                      ModifyVolumeGroupMembershipResponse.newBuilder()
                          .setVolumeGroup(encode(group))
                          .build());
        });
  }

  @Override
  public void deleteVolumeGroup(
      DeleteVolumeGroupRequest request, StreamObserver<DeleteVolumeGroupResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI_ADDONS,
        answer -> {
          Optional<VolumeId> id = VolumeId.parse(Requests.required(request.getVolumeGroupId(), ID));
          DeleteVolumeGroupResponse done = DeleteVolumeGroupResponse.getDefaultInstance();
          if (id.isEmpty()) {
            return CompletableFuture.completedFuture(done); // no such group can exist
          }
          Credentials user = Storage.RBD.credentials(request.getSecretsMap());
          return operations.start(
              id.get().toString(),
              "DeleteVolumeGroup",
              executor(id.get().clusterId()),
              operation -> {
                groups.delete(id.get(), keepVolumes, user);
                return done;
              });
        });
  }

  @Override
  public void listVolumeGroups(
      ListVolumeGroupsRequest request, StreamObserver<ListVolumeGroupsResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI_ADDONS,
        answer -> {
          if (request.getMaxEntries() < 0) {
            throw VolumeException.invalid("max_entries must not be negative");
          }
          return CompletableFuture.supplyAsync(
                  () ->
                      inventory.groups(
                          request.getSecretsMap(),
                          request.getMaxEntries(),
                          request.getStartingToken()),
                  executors.lists(Storage.RBD))
              .thenApply(RbdVolumeGroupService::encode);
        });
  }

  @Override
  public void controllerGetVolumeGroup(
      ControllerGetVolumeGroupRequest request,
      StreamObserver<ControllerGetVolumeGroupResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI_ADDONS,
        answer -> {
          VolumeId id = groupId(request.getVolumeGroupId());
          Credentials user = Storage.RBD.credentials(request.getSecretsMap());
          return operations
              .read(
                  "ControllerGetVolumeGroup of " + id,
                  executor(id.clusterId()),
                  () -> groups.get(id, user))
              .thenApply(
                  group ->
                      ControllerGetVolumeGroupResponse.newBuilder()
                          .setVolumeGroup(encode(group))
                          .build());
        });
  }

  private Executor executor(String clusterId) {
    return executors.calls(Storage.RBD, clusterId);
  }

  private static VolumeId groupId(String text) {
    return VolumeId.parse(Requests.required(text, ID))
        .orElseThrow(
            () ->
                VolumeException.notFound(
                    "volume group " + text + " does not exist: this is no id of this driver"));
  }

  private static Set<VolumeId> volumeIds(List<String> texts) {
    Set<VolumeId> ids = new LinkedHashSet<>();
    for (String text : texts) {
      ids.add(Requests.volumeId(text));
    }
    return ids;
  }

  private static ListVolumeGroupsResponse encode(
      ListPage<io.cephcsi.driver.volume.VolumeGroup> page) {
    ListVolumeGroupsResponse.Builder response =
        ListVolumeGroupsResponse.newBuilder().setNextToken(page.nextToken());
    page.entries()
        .forEach(
            group ->
                response.addEntries(
                    ListVolumeGroupsResponse.Entry.newBuilder().setVolumeGroup(encode(group))));
    return response.build();
  }

  private static VolumeGroup encode(io.cephcsi.driver.volume.VolumeGroup group) {
    VolumeGroup.Builder encoded =
        VolumeGroup.newBuilder()
            .setVolumeGroupId(group.id().toString())
            .putAllVolumeGroupContext(group.context());
    for (CreatedVolume volume : group.volumes()) {
      encoded.addVolumes(
          Volume.newBuilder()
              .setVolumeId(volume.id().toString())
              .setCapacityBytes(volume.size())
              .putAllVolumeContext(volume.context()));
    }
    return encoded.build();
  }
}
