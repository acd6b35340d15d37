package io.cephcsi.driver.csi;

import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.MigratedVolume;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeId;
import java.util.Optional;

/**
 * A volume by the identifier in a request: one that a driver made, or that Kubernetes' in-tree
 * plugin made, where the storage serves these.
 */
interface NamedVolume {
  /** Its cluster in the configuration. */
  String clusterId();

  /** As {@link ControllerBackend#delete}. */
  void delete(Credentials credentials);

  /** As {@link ControllerBackend#expand}. */
  long expand(CapacityRange capacity, Credentials credentials);

  /** The volume of an identifier; empty when it is none: no such volume can exist. */
  static Optional<NamedVolume> find(ControllerBackend backend, String handle) {
    return VolumeId.parse(handle)
        .<NamedVolume>map(id -> new Made(backend, id))
        .or(
            () ->
                backend
                    .migrated()
                    .flatMap(calls -> MigratedVolume.parse(handle).map(v -> new InTree(calls, v))));
  }

  /**
   * The volume of an identifier.
   *
   * @throws VolumeException NOT_FOUND when it is none
   */
  static NamedVolume require(ControllerBackend backend, String handle) {
    return find(backend, handle)
        .orElseThrow(
            () ->
                VolumeException.notFound(
                    "volume " + handle + " does not exist: this is no id of this driver"));
  }

  /** One that a driver made. */
  record Made(ControllerBackend backend, VolumeId id) implements NamedVolume {
    @Override
    public String clusterId() {
      return id.clusterId();
    }

    @Override
    public void delete(Credentials credentials) {
      backend.delete(id, credentials);
    }

    @Override
    public long expand(CapacityRange capacity, Credentials credentials) {
      return backend.expand(id, capacity, credentials);
    }
  }

  /** One that Kubernetes' in-tree plugin made. */
  record InTree(ControllerBackend.Migrated calls, MigratedVolume volume) implements NamedVolume {
    @Override
    public String clusterId() {
      return volume.clusterId();
    }

    @Override
    public void delete(Credentials credentials) {
      calls.delete(volume, credentials);
    }

    @Override
    public long expand(CapacityRange capacity, Credentials credentials) {
      return calls.expand(volume, capacity, credentials);
    }
  }
}
