package io.cephcsi.driver.csi;

import com.google.protobuf.BoolValue;
import io.cephcsi.driver.grpc.StatusTable.Family;
import io.cephcsi.driver.grpc.UnaryResponse;
import io.cephcsi.proto.csi.v1.GetPluginCapabilitiesRequest;
import io.cephcsi.proto.csi.v1.GetPluginCapabilitiesResponse;
import io.cephcsi.proto.csi.v1.GetPluginInfoRequest;
import io.cephcsi.proto.csi.v1.GetPluginInfoResponse;
import io.cephcsi.proto.csi.v1.IdentityGrpc;
import io.cephcsi.proto.csi.v1.PluginCapability;
import io.cephcsi.proto.csi.v1.ProbeRequest;
import io.cephcsi.proto.csi.v1.ProbeResponse;
import io.grpc.stub.StreamObserver;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** CSI Identity; never waits for the cluster, so it answers whatever state that is in. */
public final class IdentityService extends IdentityGrpc.IdentityImplBase {
  private final String name;
  private final String version;
  private final boolean controller;
  private final Supplier<CompletableFuture<List<PluginCapability.Service.Type>>> services;
  private final BooleanSupplier ready;

  /**
   * @param name the driver's name
   * @param version of the driver
   * @param controller whether the controller service is served
   * @param services what the controller serves besides, and whether volumes have a topology; known
   *     soon, whatever state the cluster is in
   * @param ready whether a cluster was reached since the start; must not block
   */
  public IdentityService(
      String name,
      String version,
      boolean controller,
      Supplier<CompletableFuture<List<PluginCapability.Service.Type>>> services,
      BooleanSupplier ready) {
    this.services = services;
    this.name = name;
    this.version = version;
    this.controller = controller;
    this.ready = ready;
  }

  @Override
  public void getPluginInfo(
      GetPluginInfoRequest request, StreamObserver<GetPluginInfoResponse> observer) {
    UnaryResponse.now(
        observer,
        GetPluginInfoResponse.newBuilder().setName(name).setVendorVersion(version).build());
  }

  @Override
  public void getPluginCapabilities(
      GetPluginCapabilitiesRequest request,
      StreamObserver<GetPluginCapabilitiesResponse> observer) {
    UnaryResponse.to(observer, Family.CSI, answer -> services.get().thenApply(this::capabilities));
  }

  private GetPluginCapabilitiesResponse capabilities(List<PluginCapability.Service.Type> types) {
    GetPluginCapabilitiesResponse.Builder response = GetPluginCapabilitiesResponse.newBuilder();
    if (controller) {
      response
          .addCapabilities(service(PluginCapability.Service.Type.CONTROLLER_SERVICE))
          .addCapabilities(
              PluginCapability.newBuilder()
                  .setVolumeExpansion(
                      PluginCapability.VolumeExpansion.newBuilder()
                          .setType(PluginCapability.VolumeExpansion.Type.ONLINE)));
      types.forEach(type -> response.addCapabilities(service(type)));
    }
    return response.build();
  }

  private static PluginCapability service(PluginCapability.Service.Type type) {
    return PluginCapability.newBuilder()
        .setService(PluginCapability.Service.newBuilder().setType(type))
        .build();
  }

  @Override
  public void probe(ProbeRequest request, StreamObserver<ProbeResponse> observer) {
    UnaryResponse.now(
        observer, ProbeResponse.newBuilder().setReady(BoolValue.of(ready.getAsBoolean())).build());
  }
}
