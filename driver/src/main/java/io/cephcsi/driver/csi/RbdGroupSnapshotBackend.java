package io.cephcsi.driver.csi;

import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.rbd.group.RbdGroupSnapshots;
import io.cephcsi.driver.rbd.parameters.SnapshotParameters;
import io.cephcsi.driver.volume.GroupSnapshot;
import io.cephcsi.driver.volume.VolumeId;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/**
 * Snapshots of several RBD volumes.
 *
 * @param snapshots does the work
 */
public record RbdGroupSnapshotBackend(RbdGroupSnapshots snapshots) implements GroupSnapshotBackend {
  @Override
  public Storage storage() {
    return Storage.RBD;
  }

  @Override
  public CompletableFuture<Boolean> advertised() {
    return CompletableFuture.completedFuture(true);
  }

  @Override
  public Creation creation(Map<String, String> parameters) {
    SnapshotParameters parsed = SnapshotParameters.parse(parameters);
    return (name, sources, user) -> snapshots.create(name, sources, parsed, user);
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
