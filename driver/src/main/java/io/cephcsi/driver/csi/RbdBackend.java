package io.cephcsi.driver.csi;

import io.cephcsi.bindings.rbd.SnapshotCreation;
import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.node.rbd.RbdOptions;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.rbd.parameters.RbdParameters;
import io.cephcsi.driver.rbd.parameters.SnapshotParameters;
import io.cephcsi.driver.rbd.session.StaticImage;
import io.cephcsi.driver.rbd.snapshot.RbdSnapshots;
import io.cephcsi.driver.rbd.volume.MutableParameters;
import io.cephcsi.driver.rbd.volume.RbdVolumes;
import io.cephcsi.driver.rbd.volume.VolumeRequest;
import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.ContentSource;
import io.cephcsi.driver.volume.CreatedVolume;
import io.cephcsi.driver.volume.MigratedVolume;
import io.cephcsi.driver.volume.StaticVolume;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.ControllerServiceCapability.RPC;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executor;

/** The controller's calls on RBD. */
public final class RbdBackend implements ControllerBackend {
  private final RbdVolumes volumes;
  private final RbdSnapshots snapshots;
  private final ClusterExecutors executors;
  private final boolean topology;

  /**
   * @param volumes does the work
   * @param snapshots does the work on snapshots
   * @param executors run it
   * @param topology whether the driver says that volumes have a topology
   */
  public RbdBackend(
      RbdVolumes volumes, RbdSnapshots snapshots, ClusterExecutors executors, boolean topology) {
    this.volumes = volumes;
    this.snapshots = snapshots;
    this.executors = executors;
    this.topology = topology;
  }

  @Override
  public Storage storage() {
    return Storage.RBD;
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
    return VolumeCapabilities.unsupported(capabilities, fromSource)
        .or(() -> VolumeUses.refusedByNodes(capabilities, storage()));
  }

  @Override
  public Creation creation(
      CreateVolumeRequest request, CapacityRange capacity, Optional<ContentSource> source) {
    MutableParameters mutable =
        MutableParameters.parse(request.getParametersMap(), request.getMutableParametersMap());
    RbdParameters parameters = Topologies.parameters(request, topology);
    RbdOptions.require(request.getParametersMap());
    parameters
        .encryption()
        .ifPresent(
            wanted ->
                request
                    .getVolumeCapabilitiesList()
                    .forEach(use -> wanted.requireUse(use.hasBlock(), use.getMount().getFsType())));
    return new RbdCreation(parameters, mutable, capacity, source);
  }

  @Override
  public void delete(VolumeId id, Credentials credentials) {
    volumes.delete(id, credentials);
  }

  @Override
  public void require(VolumeId id, Credentials credentials) {
    volumes.size(id, credentials);
  }

  @Override
  public void require(StaticVolume volume, Credentials credentials) {
    volumes.require(StaticImage.of(volume), credentials);
  }

  @Override
  public long expand(VolumeId id, CapacityRange capacity, Credentials credentials) {
    return volumes.expand(id, capacity, credentials);
  }

  @Override
  public Optional<Migrated> migrated() {
    return Optional.of(
        new Migrated() {
          @Override
          public void delete(MigratedVolume volume, Credentials credentials) {
            volumes.delete(StaticImage.of(volume), credentials);
          }

          @Override
          public long expand(
              MigratedVolume volume, CapacityRange capacity, Credentials credentials) {
            return volumes.expand(StaticImage.of(volume), capacity, credentials);
          }
        });
  }

  @Override
  public boolean expandsOnNode(VolumeCapability capability) {
    return true; // a block device, too: only krbd's grows by itself
  }

  @Override
  public Modification modification(Map<String, String> parameters) {
    MutableParameters mutable = MutableParameters.parse(parameters);
    return (id, credentials) -> volumes.modify(id, mutable, credentials);
  }

  @Override
  public SnapshotCreation snapshotCreation(Map<String, String> parameters) {
    SnapshotParameters decoded = SnapshotParameters.parse(parameters);
    return (name, source, credentials) -> snapshots.create(name, source, decoded, credentials);
  }

  @Override
  public void deleteSnapshot(VolumeId id, Credentials credentials) {
    snapshots.delete(id, credentials);
  }

  /** An RBD volume that is to be made. */
  private final class RbdCreation implements Creation {
    private final RbdParameters parameters;
    private final MutableParameters mutable;
    private final CapacityRange capacity;
    private final Optional<ContentSource> source;

    RbdCreation(
        RbdParameters parameters,
        MutableParameters mutable,
        CapacityRange capacity,
        Optional<ContentSource> source) {
      this.parameters = parameters;
      this.mutable = mutable;
      this.capacity = capacity;
      this.source = source;
    }

    @Override
    public String clusterId() {
      return parameters.clusterId();
    }

    @Override
    public CreatedVolume create(String name, Credentials credentials, Operation operation) {
      return volumes.create(
          new VolumeRequest(name, parameters, mutable, capacity, source), credentials);
    }
  }
}
