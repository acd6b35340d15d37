package io.cephcsi.driver.csi;

import com.google.protobuf.BoolValue;
import io.cephcsi.driver.grpc.Answer;
import io.cephcsi.proto.csi.v1.GetPluginCapabilitiesRequest;
import io.cephcsi.proto.csi.v1.GetPluginCapabilitiesResponse;
import io.cephcsi.proto.csi.v1.GetPluginInfoRequest;
import io.cephcsi.proto.csi.v1.GetPluginInfoResponse;
import io.cephcsi.proto.csi.v1.IdentityGrpc;
import io.cephcsi.proto.csi.v1.PluginCapability;
import io.cephcsi.proto.csi.v1.ProbeRequest;
import io.cephcsi.proto.csi.v1.ProbeResponse;
import io.grpc.stub.StreamObserver;
import java.util.function.BooleanSupplier;

/** CSI Identity; never asks the cluster, so it answers whatever state that is in. */
public final class IdentityService extends IdentityGrpc.IdentityImplBase {
  private final String name;
  private final String version;
  private final boolean controller;
  private final boolean topology;
  private final BooleanSupplier ready;

  /**
   * @param name the driver's name
   * @param version of the driver
   * @param controller whether the controller service is served
   * @param topology whether volumes may not be accessible from everywhere
   * @param ready whether a cluster was reached since the start; must not block
   */
  public IdentityService(
      String name, String version, boolean controller, boolean topology, BooleanSupplier ready) {
    this.topology = topology;
    this.name = name;
    this.version = version;
    this.controller = controller;
    this.ready = ready;
  }

  @Override
  public void getPluginInfo(
      GetPluginInfoRequest request, StreamObserver<GetPluginInfoResponse> observer) {
    Answer.now(
        observer,
        GetPluginInfoResponse.newBuilder().setName(name).setVendorVersion(version).build());
  }

  @Override
  public void getPluginCapabilities(
      GetPluginCapabilitiesRequest request,
      StreamObserver<GetPluginCapabilitiesResponse> observer) {
    GetPluginCapabilitiesResponse.Builder response = GetPluginCapabilitiesResponse.newBuilder();
    if (controller) {
      response
          .addCapabilities(service(PluginCapability.Service.Type.CONTROLLER_SERVICE))
          .addCapabilities(
              PluginCapability.newBuilder()
                  .setVolumeExpansion(
                      PluginCapability.VolumeExpansion.newBuilder()
                          .setType(PluginCapability.VolumeExpansion.Type.ONLINE)));
    }
    if (controller && topology) {
      response.addCapabilities(
          service(PluginCapability.Service.Type.VOLUME_ACCESSIBILITY_CONSTRAINTS));
    }
    Answer.now(observer, response.build());
  }

  private static PluginCapability service(PluginCapability.Service.Type type) {
    return PluginCapability.newBuilder()
        .setService(PluginCapability.Service.newBuilder().setType(type))
        .build();
  }

  @Override
  public void probe(ProbeRequest request, StreamObserver<ProbeResponse> observer) {
    Answer.now(
        observer, ProbeResponse.newBuilder().setReady(BoolValue.of(ready.getAsBoolean())).build());
  }
}
