package io.cephcsi.driver.csi;

import io.cephcsi.driver.cephfs.CephFsGroupSnapshots;
import io.cephcsi.driver.cephfs.CephFsParameters;
import io.cephcsi.driver.cephfs.QuiesceSupport;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.volume.GroupSnapshot;
import io.cephcsi.driver.volume.VolumeId;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/**
 * Snapshots of several CephFS volumes.
 *
 * @param snapshots does the work
 * @param support whether the clusters can quiesce
 */
public record CephFsGroupSnapshotBackend(CephFsGroupSnapshots snapshots, QuiesceSupport support)
    implements GroupSnapshotBackend {
  @Override
  public Storage storage() {
    return Storage.CEPHFS;
  }

  @Override
  public CompletableFuture<Boolean> advertised() {
    return support.advertised();
  }

  @Override
  public Creation creation(Map<String, String> parameters) {
    Optional<String> clusterId =
        Optional.ofNullable(parameters.get("clusterID")).filter(id -> !id.isBlank());
    String prefix = CephFsParameters.snapshotPrefix(parameters);
    return (name, sources, user) -> snapshots.create(name, sources, clusterId, prefix, user);
  }

  @Override
  public void delete(VolumeId id, Set<String> expected, Credentials user) {
    snapshots.delete(id, expected, user);
  }

  @Override
  public GroupSnapshot get(VolumeId id, Set<String> expected, Credentials user) {
    return snapshots.get(id, expected, user);
  }
}
