package io.cephcsi.driver.csi;

import io.cephcsi.driver.cephfs.CephFsParameters;
import io.cephcsi.driver.cephfs.CephFsRequest;
import io.cephcsi.driver.cephfs.CephFsSnapshots;
import io.cephcsi.driver.cephfs.CephFsVolumes;
import io.cephcsi.driver.cephfs.CopyWait;
import io.cephcsi.driver.cephfs.MdsPin;
import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.node.cephfs.CephFsOptions;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.ContentSource;
import io.cephcsi.driver.volume.CreatedVolume;
import io.cephcsi.driver.volume.StaticVolume;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.ControllerServiceCapability.RPC;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.grpc.Context;
import io.grpc.Deadline;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The controller's calls on CephFS. */
public final class CephFsBackend implements ControllerBackend {
  /** What is left of a call's time for the answer when it has waited for a copy. */
  private static final Duration ANSWER = Duration.ofSeconds(1);

  private final CephFsVolumes volumes;
  private final CephFsSnapshots snapshots;
  private final ClusterExecutors executors;
  private final Duration copyWait;
  private final Semaphore waiting = new Semaphore(CopyWait.PLACES);

  /**
   * @param volumes does the work
   * @param snapshots does the work on snapshots
   * @param executors run it
   * @param copyWait how long a CreateVolume waits for its copy at most
   */
  public CephFsBackend(
      CephFsVolumes volumes,
      CephFsSnapshots snapshots,
      ClusterExecutors executors,
      Duration copyWait) {
    this.volumes = volumes;
    this.snapshots = snapshots;
    this.executors = executors;
    this.copyWait = copyWait;
  }

  @Override
  public Storage storage() {
    return Storage.CEPHFS;
  }

  @Override
  public List<RPC.Type> capabilities() {
    return List.of(RPC.Type.MODIFY_VOLUME);
  }

  @Override
  public Executor executor(String clusterId) {
    return executors.calls(storage(), clusterId);
  }

  @Override
  public Optional<String> unsupported(List<VolumeCapability> capabilities, boolean fromSource) {
    return VolumeCapabilities.unsupportedByCephFs(capabilities)
        .or(() -> VolumeUses.refusedByNodes(capabilities, storage()));
  }

  @Override
  public Creation creation(
      CreateVolumeRequest request, CapacityRange capacity, Optional<ContentSource> source) {
    CephFsOptions.requireAll(request.getParametersMap());
    CephFsRequest wanted =
        new CephFsRequest(
            request.getName(),
            CephFsParameters.parse(request.getParametersMap()),
            capacity,
            source,
            request.getVolumeCapabilitiesList().stream().allMatch(VolumeCapabilities::onlyReads),
            MdsPin.parse(request.getMutableParametersMap()));
    @Nullable Deadline deadline = Context.current().getDeadline();
    return new Creation() {
      @Override
      public String clusterId() {
        return wanted.parameters().clusterId();
      }

      @Override
      public CreatedVolume create(String name, Credentials credentials, Operation operation) {
        return volumes.create(
            wanted, credentials, new CopyWait(waiting, patience(deadline), Optional.of(operation)));
      }
    };
  }

  /** How long a call that is to be answered by a time waits for its copy. */
  private Duration patience(@Nullable Deadline deadline) {
    if (deadline == null) {
      return copyWait;
    }
    Duration left = Duration.ofMillis(deadline.timeRemaining(TimeUnit.MILLISECONDS)).minus(ANSWER);
    return left.compareTo(copyWait) < 0 ? left : copyWait;
  }

  @Override
  public void delete(VolumeId id, Credentials credentials) {
    volumes.delete(id, credentials);
  }

  @Override
  public void require(VolumeId id, Credentials credentials) {
    volumes.require(id, credentials);
  }

  @Override
  public void require(StaticVolume volume, Credentials credentials) {
    volumes.locate(volume, credentials);
  }

  @Override
  public long expand(VolumeId id, CapacityRange capacity, Credentials credentials) {
    return volumes.expand(id, capacity, credentials);
  }

  /** The quota holds at once, wherever the volume is mounted. */
  @Override
  public boolean expandsOnNode(VolumeCapability capability) {
    return false;
  }

  @Override
  public Modification modification(Map<String, String> parameters) {
    Optional<MdsPin> pin = MdsPin.parse(parameters);
    return (id, credentials) ->
        pin.ifPresentOrElse(
            to -> volumes.pin(id, to, credentials), () -> volumes.require(id, credentials));
  }

  @Override
  public SnapshotCreation snapshotCreation(Map<String, String> parameters) {
    Optional<String> clusterId =
        Optional.ofNullable(parameters.get("clusterID")).filter(id -> !id.isBlank());
    String prefix = CephFsParameters.snapshotPrefix(parameters);
    return (name, source, credentials) ->
        snapshots.create(name, source, clusterId, prefix, credentials);
  }

  @Override
  public void deleteSnapshot(VolumeId id, Credentials credentials) {
    snapshots.delete(id, credentials);
  }
}
