package io.cephcsi.driver.csi;

import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.ContentSource;
import io.cephcsi.driver.volume.CreatedSnapshot;
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

/**
 * The controller calls on one kind of storage. Decoding checks a request before anything is
 * changed; all other methods block on the cluster, under the lock that the service took.
 */
public interface ControllerBackend {
  /** Which storage it is. */
  Storage storage();

  /** Capabilities of this storage beyond those that the service has anyway. */
  List<RPC.Type> capabilities();

  /** Runs the calls of a cluster. */
  Executor executor(String clusterId);

  /**
   * Why a volume cannot be used in such ways, on any node.
   *
   * @param fromSource whether the volume has content from a snapshot or volume
   * @return empty when it can
   */
  Optional<String> unsupported(List<VolumeCapability> capabilities, boolean fromSource);

  /** Decodes what is particular of a CreateVolume request. */
  Creation creation(
      CreateVolumeRequest request, CapacityRange capacity, Optional<ContentSource> source);

  /** Deletes a volume; one that does not exist is deleted already. */
  void delete(VolumeId id, Credentials credentials);

  /** Requires that a volume exists. */
  void require(VolumeId id, Credentials credentials);

  /** Requires that a volume exists that no driver made. */
  void require(StaticVolume volume, Credentials credentials);

  /**
   * Grows a volume; never shrinks it.
   *
   * @return the size afterwards, in bytes
   */
  long expand(VolumeId id, CapacityRange capacity, Credentials credentials);

  /** Serves volumes of Kubernetes' in-tree plugin; empty where such are not served. */
  default Optional<Migrated> migrated() {
    return Optional.empty();
  }

  /** Whether the node has to do something after a volume grew. */
  boolean expandsOnNode(VolumeCapability capability);

  /** Decodes the mutable parameters of a ControllerModifyVolume request. */
  Modification modification(Map<String, String> parameters);

  /** Decodes the parameters of a CreateSnapshot request. */
  SnapshotCreation snapshotCreation(Map<String, String> parameters);

  /** Deletes a snapshot; one that does not exist is deleted already. */
  void deleteSnapshot(VolumeId id, Credentials credentials);

  /** The calls on volumes that Kubernetes' in-tree plugin made. */
  interface Migrated {
    /** As {@link ControllerBackend#delete}. */
    void delete(MigratedVolume volume, Credentials credentials);

    /** As {@link ControllerBackend#expand}. */
    long expand(MigratedVolume volume, CapacityRange capacity, Credentials credentials);
  }

  /** A volume that is to be made. */
  interface Creation {
    /** The cluster in the configuration. */
    String clusterId();

    /** Makes it, or finds it made. */
    CreatedVolume create(String name, Credentials credentials, Operation operation);
  }

  /** Changes of a volume. */
  interface Modification {
    /** Carries them out. */
    void apply(VolumeId id, Credentials credentials);
  }

  /** A snapshot that is to be taken. */
  interface SnapshotCreation {
    /** Takes it, or finds it taken. */
    CreatedSnapshot create(String name, VolumeId source, Credentials credentials);
  }
}
