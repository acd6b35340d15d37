package io.cephcsi.driver.csi;

import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.volume.GroupSnapshot;
import io.cephcsi.driver.volume.VolumeId;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/** The calls of the GroupController on a kind of storage; all but {@link #advertised} block. */
public interface GroupSnapshotBackend {
  /** Whose credentials and threads are used. */
  Storage storage();

  /** Whether the driver says that it takes snapshots of several volumes; does not block. */
  CompletableFuture<Boolean> advertised();

  /**
   * Prepares to take some.
   *
   * @param parameters of the VolumeGroupSnapshotClass
   * @throws io.cephcsi.driver.volume.VolumeException INVALID_ARGUMENT naming a parameter
   */
  Creation creation(Map<String, String> parameters);

  /**
   * Deletes one; one that does not exist is deleted already.
   *
   * @param expected the ids of the snapshots that the CO takes it to have
   * @throws io.cephcsi.driver.volume.VolumeException INVALID_ARGUMENT if it has others
   */
  void delete(VolumeId id, Set<String> expected, Credentials user);

  /**
   * One that exists.
   *
   * @param expected as of {@link #delete}
   * @throws io.cephcsi.driver.volume.VolumeException NOT_FOUND; INVALID_ARGUMENT
   */
  GroupSnapshot get(VolumeId id, Set<String> expected, Credentials user);

  /** Takes snapshots of volumes, or gives those that the name has. */
  interface Creation {
    /** Takes them. */
    GroupSnapshot create(String name, Set<VolumeId> sources, Credentials user);
  }
}
