package io.cephcsi.driver.csiaddons;

import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.csi.Requests;
import io.cephcsi.driver.grpc.StatusTable.Family;
import io.cephcsi.driver.grpc.UnaryResponse;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.rbd.session.RbdSessions;
import io.cephcsi.driver.rbd.session.StaticImage;
import io.cephcsi.driver.reclaim.ReclaimPlan;
import io.cephcsi.driver.reclaim.ReclaimResult;
import io.cephcsi.driver.reclaim.SpaceReclaimer;
import io.cephcsi.driver.volume.MigratedVolume;
import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceRequest;
import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceResponse;
import io.cephcsi.proto.addons.reclaimspace.ReclaimSpaceControllerGrpc;
import io.cephcsi.proto.addons.reclaimspace.StorageConsumption;
import io.grpc.stub.StreamObserver;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;
import java.util.function.Function;

/** CSI-Addons ReclaimSpace for RBD on the controller: decode, lock, call, encode. */
public final class RbdReclaimService
    extends ReclaimSpaceControllerGrpc.ReclaimSpaceControllerImplBase {
  private final RbdSessions sessions;
  private final SpaceReclaimer reclaimer;
  private final OperationRegistry operations;
  private final ClusterExecutors executors;

  /**
   * @param sessions of the calls
   * @param reclaimer does the work
   * @param operations locks ids
   * @param executors run what blocks
   */
  public RbdReclaimService(
      RbdSessions sessions,
      SpaceReclaimer reclaimer,
      OperationRegistry operations,
      ClusterExecutors executors) {
    this.sessions = sessions;
    this.reclaimer = reclaimer;
    this.operations = operations;
    this.executors = executors;
  }

  @Override
  public void controllerReclaimSpace(
      ControllerReclaimSpaceRequest request,
      StreamObserver<ControllerReclaimSpaceResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI_ADDONS,
        answer -> {
          String handle = Requests.required(request.getVolumeId(), "volume_id");
          ReclaimPlan plan = ReclaimPlan.parse(request.getParametersMap());
          Optional<MigratedVolume> migrated = MigratedVolume.parse(handle);
          String clusterId =
              migrated
                  .map(MigratedVolume::clusterId)
                  .orElseGet(() -> Requests.volumeId(handle).clusterId());
          Credentials credentials = Credentials.fromSecrets(request.getSecretsMap());
          return operations
              .startKept(
                  handle,
                  "ControllerReclaimSpace",
                  plan.toString(),
                  answer::callerGone,
                  executors.longWork(clusterId),
                  operation ->
                      onTarget(
                          handle,
                          migrated,
                          credentials,
                          target -> reclaimer.reclaim(target, plan, operation)))
              .thenApply(RbdReclaimService::response);
        });
  }

  private ReclaimResult onTarget(
      String handle,
      Optional<MigratedVolume> migrated,
      Credentials user,
      Function<VolumeTarget, ReclaimResult> work) {
    return migrated.isPresent()
        ? sessions.with(
            StaticImage.of(migrated.get()), user, image -> work.apply(VolumeTarget.of(image)))
        : sessions.with(
            Requests.volumeId(handle), user, volume -> work.apply(VolumeTarget.of(volume)));
  }

  private static ControllerReclaimSpaceResponse response(ReclaimResult result) {
    ControllerReclaimSpaceResponse.Builder response = ControllerReclaimSpaceResponse.newBuilder();
    ifPresent(result.before(), response::setPreUsage);
    ifPresent(result.after(), response::setPostUsage);
    return response.build();
  }

  static void ifPresent(OptionalLong bytes, Consumer<StorageConsumption> field) {
    if (bytes.isPresent()) {
      field.accept(StorageConsumption.newBuilder().setUsageBytes(bytes.getAsLong()).build());
    }
  }
}
