package io.cephcsi.driver.csiaddons;

import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.csi.Requests;
import io.cephcsi.driver.fence.Cidr;
import io.cephcsi.driver.fence.NetworkFence;
import io.cephcsi.driver.grpc.StatusTable.Family;
import io.cephcsi.driver.grpc.UnaryResponse;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.volume.Booleans;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.proto.addons.fence.CIDR;
import io.cephcsi.proto.addons.fence.ClientDetails;
import io.cephcsi.proto.addons.fence.FenceClusterNetworkRequest;
import io.cephcsi.proto.addons.fence.FenceClusterNetworkResponse;
import io.cephcsi.proto.addons.fence.FenceControllerGrpc;
import io.cephcsi.proto.addons.fence.GetFenceClientsRequest;
import io.cephcsi.proto.addons.fence.GetFenceClientsResponse;
import io.cephcsi.proto.addons.fence.ListClusterFenceRequest;
import io.cephcsi.proto.addons.fence.ListClusterFenceResponse;
import io.cephcsi.proto.addons.fence.UnfenceClusterNetworkRequest;
import io.cephcsi.proto.addons.fence.UnfenceClusterNetworkResponse;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/**
 * CSI-Addons NetworkFence: decode, lock, call, encode. A node serves GetFenceClients only: fencing
 * is the controller's.
 */
public final class FenceService extends FenceControllerGrpc.FenceControllerImplBase {
  private static final String CLUSTER_ID = "clusterID";
  private static final String ALLOW_DAEMONS = "allowDaemons";

  private final Storage storage;
  private final NetworkFence fence;
  private final boolean controller;
  private final boolean node;
  private final OperationRegistry operations;
  private final ClusterExecutors executors;

  /**
   * @param storage whose secrets requests carry
   * @param fence does the work
   * @param controller whether all calls are served
   * @param node whether volumes are attached or mounted here
   * @param operations locks a cluster's fences
   * @param executors run what blocks
   */
  public FenceService(
      Storage storage,
      NetworkFence fence,
      boolean controller,
      boolean node,
      OperationRegistry operations,
      ClusterExecutors executors) {
    this.storage = storage;
    this.fence = fence;
    this.controller = controller;
    this.node = node;
    this.operations = operations;
    this.executors = executors;
  }

  @Override
  public void fenceClusterNetwork(
      FenceClusterNetworkRequest request, StreamObserver<FenceClusterNetworkResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI_ADDONS,
        answer -> {
          requireController();
          Map<String, String> parameters = request.getParametersMap();
          List<Cidr> ranges = ranges(request.getCidrsList());
          boolean allowDaemons = Booleans.isTrue("parameters", parameters, ALLOW_DAEMONS);
          Credentials user = storage.credentials(request.getSecretsMap());
          return changed(
              parameters,
              "FenceClusterNetwork",
              cluster -> fence.fence(cluster, ranges, allowDaemons, user),
              FenceClusterNetworkResponse.getDefaultInstance());
        });
  }

  @Override
  public void unfenceClusterNetwork(
      UnfenceClusterNetworkRequest request,
      StreamObserver<UnfenceClusterNetworkResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI_ADDONS,
        answer -> {
          requireController();
          List<Cidr> ranges = ranges(request.getCidrsList());
          Credentials user = storage.credentials(request.getSecretsMap());
          return changed(
              request.getParametersMap(),
              "UnfenceClusterNetwork",
              cluster -> fence.unfence(cluster, ranges, user),
              UnfenceClusterNetworkResponse.getDefaultInstance());
        });
  }

  @Override
  public void listClusterFence(
      ListClusterFenceRequest request, StreamObserver<ListClusterFenceResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI_ADDONS,
        answer -> {
          requireController();
          String cluster = clusterId(request.getParametersMap());
          Credentials user = storage.credentials(request.getSecretsMap());
          return operations
              .read(
                  "ListClusterFence of " + cluster,
                  executor(cluster),
                  () -> fence.list(cluster, user))
              .thenApply(
                  ranges ->
                      ListClusterFenceResponse.newBuilder()
                          .addAllCidrs(ranges.stream().map(FenceService::encode).toList())
                          .build());
        });
  }

  @Override
  public void getFenceClients(
      GetFenceClientsRequest request, StreamObserver<GetFenceClientsResponse> observer) {
    UnaryResponse.to(
        observer,
        Family.CSI_ADDONS,
        answer -> {
          String cluster = clusterId(request.getParametersMap());
          Credentials user = storage.credentials(request.getSecretsMap());
          return operations
              .read(
                  "GetFenceClients of " + cluster,
                  executor(cluster),
                  () -> fence.client(cluster, user, node ? Optional.of(storage) : Optional.empty()))
              .thenApply(
                  client ->
                      GetFenceClientsResponse.newBuilder()
                          .addClients(
                              ClientDetails.newBuilder()
                                  .setId(client.fsid())
                                  .addAddresses(encode(client.address())))
                          .build());
        });
  }

  private <T> CompletableFuture<T> changed(
      Map<String, String> parameters, String kind, Change change, T response) {
    String cluster = clusterId(parameters);
    return operations.start(
        "network fence of " + cluster,
        kind,
        executor(cluster),
        operation -> {
          change.in(cluster);
          return response;
        });
  }

  private void requireController() {
    if (!controller) {
      throw new VolumeException(
          Reason.UNIMPLEMENTED, "the node plugin fences nothing: call the controller");
    }
  }

  private Executor executor(String clusterId) {
    return executors.calls(storage, clusterId);
  }

  private static String clusterId(Map<String, String> parameters) {
    return Requests.required(parameters.getOrDefault(CLUSTER_ID, ""), "parameters: " + CLUSTER_ID);
  }

  private static List<Cidr> ranges(List<CIDR> cidrs) {
    if (cidrs.isEmpty()) {
      throw VolumeException.invalid("cidrs is required");
    }
    List<Cidr> ranges = new ArrayList<>();
    cidrs.forEach(cidr -> ranges.add(Cidr.parse(cidr.getCidr())));
    return ranges.stream().distinct().toList();
  }

  private static CIDR encode(Cidr range) {
    return CIDR.newBuilder().setCidr(range.toString()).build();
  }

  /** What is done to a cluster. */
  private interface Change {
    void in(String clusterId);
  }
}
