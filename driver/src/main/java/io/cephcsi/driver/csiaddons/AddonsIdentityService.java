package io.cephcsi.driver.csiaddons;

import com.google.protobuf.BoolValue;
import io.cephcsi.driver.grpc.UnaryResponse;
import io.cephcsi.proto.addons.identity.Capability;
import io.cephcsi.proto.addons.identity.GetCapabilitiesRequest;
import io.cephcsi.proto.addons.identity.GetCapabilitiesResponse;
import io.cephcsi.proto.addons.identity.GetIdentityRequest;
import io.cephcsi.proto.addons.identity.GetIdentityResponse;
import io.cephcsi.proto.addons.identity.IdentityGrpc;
import io.cephcsi.proto.addons.identity.ProbeRequest;
import io.cephcsi.proto.addons.identity.ProbeResponse;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

/** CSI-Addons Identity; never asks the cluster. */
public final class AddonsIdentityService extends IdentityGrpc.IdentityImplBase {
  private final String name;
  private final String version;
  private final List<Capability> capabilities;
  private final BooleanSupplier ready;

  /**
   * @param name the driver's name
   * @param version of the driver
   * @param capabilities what is really served
   * @param ready whether a cluster was reached since the start; must not block
   */
  public AddonsIdentityService(
      String name, String version, List<Capability> capabilities, BooleanSupplier ready) {
    this.name = name;
    this.version = version;
    this.capabilities = List.copyOf(capabilities);
    this.ready = ready;
  }

  /** The capability of serving a controller's calls. */
  public static Capability controllerService() {
    return Capability.newBuilder()
        .setService(
            Capability.Service.newBuilder().setType(Capability.Service.Type.CONTROLLER_SERVICE))
        .build();
  }

  /** The capability of reclaiming volumes that are not in use. */
  public static Capability offlineReclaim() {
    return Capability.newBuilder()
        .setReclaimSpace(
            Capability.ReclaimSpace.newBuilder().setType(Capability.ReclaimSpace.Type.OFFLINE))
        .build();
  }

  /**
   * The capabilities of volume groups.
   *
   * @param keepVolumes whether a group that has volumes is not deleted
   */
  public static List<Capability> volumeGroups(boolean keepVolumes) {
    List<Capability.VolumeGroup.Type> types =
        new ArrayList<>(
            List.of(
                Capability.VolumeGroup.Type.VOLUME_GROUP,
                Capability.VolumeGroup.Type.LIMIT_VOLUME_TO_ONE_VOLUME_GROUP,
                Capability.VolumeGroup.Type.MODIFY_VOLUME_GROUP,
                Capability.VolumeGroup.Type.GET_VOLUME_GROUP,
                Capability.VolumeGroup.Type.LIST_VOLUME_GROUPS));
    if (keepVolumes) {
      types.add(Capability.VolumeGroup.Type.DO_NOT_ALLOW_VG_TO_DELETE_VOLUMES);
    }
    return types.stream()
        .map(
            type ->
                Capability.newBuilder()
                    .setVolumeGroup(Capability.VolumeGroup.newBuilder().setType(type))
                    .build())
        .toList();
  }

  /**
   * The capabilities of fencing.
   *
   * @param controller whether it is all served, or only the question for this machine
   */
  public static List<Capability> networkFence(boolean controller) {
    List<Capability.NetworkFence.Type> types = new ArrayList<>();
    if (controller) {
      types.add(Capability.NetworkFence.Type.NETWORK_FENCE);
    }
    types.add(Capability.NetworkFence.Type.GET_CLIENTS_TO_FENCE);
    return types.stream()
        .map(
            type ->
                Capability.newBuilder()
                    .setNetworkFence(Capability.NetworkFence.newBuilder().setType(type))
                    .build())
        .toList();
  }

  /** The capabilities of mirroring volumes to another cluster. */
  public static List<Capability> replication() {
    return List.of(
            Capability.VolumeReplication.Type.VOLUME_REPLICATION,
            Capability.VolumeReplication.Type.GET_REPLICATION_DESTINATION_INFO)
        .stream()
        .map(
            type ->
                Capability.newBuilder()
                    .setVolumeReplication(Capability.VolumeReplication.newBuilder().setType(type))
                    .build())
        .toList();
  }

  /** The capability of serving a node's calls. */
  public static Capability nodeService() {
    return Capability.newBuilder()
        .setService(Capability.Service.newBuilder().setType(Capability.Service.Type.NODE_SERVICE))
        .build();
  }

  /**
   * The capabilities of reclaiming volumes that are mounted on this node, and of changing the
   * passphrases of those that are encrypted.
   */
  public static List<Capability> onStagedImages() {
    return List.of(
        Capability.newBuilder()
            .setReclaimSpace(
                Capability.ReclaimSpace.newBuilder().setType(Capability.ReclaimSpace.Type.ONLINE))
            .build(),
        Capability.newBuilder()
            .setEncryptionKeyRotation(
                Capability.EncryptionKeyRotation.newBuilder()
                    .setType(Capability.EncryptionKeyRotation.Type.ENCRYPTIONKEYROTATION))
            .build());
  }

  @Override
  public void getIdentity(
      GetIdentityRequest request, StreamObserver<GetIdentityResponse> observer) {
    UnaryResponse.now(
        observer, GetIdentityResponse.newBuilder().setName(name).setVendorVersion(version).build());
  }

  @Override
  public void getCapabilities(
      GetCapabilitiesRequest request, StreamObserver<GetCapabilitiesResponse> observer) {
    UnaryResponse.now(
        observer, GetCapabilitiesResponse.newBuilder().addAllCapabilities(capabilities).build());
  }

  @Override
  public void probe(ProbeRequest request, StreamObserver<ProbeResponse> observer) {
    UnaryResponse.now(
        observer, ProbeResponse.newBuilder().setReady(BoolValue.of(ready.getAsBoolean())).build());
  }
}
