package io.cephcsi.driver.node;

import io.cephcsi.driver.node.machine.CommandException;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.volume.VolumeException;
import java.nio.file.Path;
import java.util.Optional;

/**
 * What the node's calls come to on one kind of storage. All block; the caller holds the lock of the
 * volume on this node; each may be repeated after a crash at any point. Refusals are {@link
 * VolumeException}s, failures of programs {@link CommandException}s.
 */
public interface NodeVolumes {
  /** Stages a volume at its staging path, or finds it staged. */
  void stage(StageRequest request, Operation operation);

  /** Undoes {@link #stage}, as far as it got; nothing to do for a volume that is not staged. */
  void unstage(String volumeId, Path stagingPath);

  /** Shows a staged volume to a workload, or finds it shown. */
  void publish(PublishRequest request, Operation operation);

  /** Undoes {@link #publish}; nothing to do where nothing is shown. */
  void unpublish(String volumeId, Path target);

  /**
   * Grows what is on the volume to the size that the volume has now.
   *
   * @param volumePath where it is shown or staged
   * @param stagingPath where it is staged; empty when the request does not say
   * @param required how many bytes the volume has at least, as the request says; 0 when it does not
   * @param users those of the request, or of the driver
   * @return the size of the volume in bytes
   */
  long expand(
      String volumeId,
      Path volumePath,
      Optional<Path> stagingPath,
      long required,
      ClusterUsers users,
      Operation operation);

  /**
   * How full a volume is and how it is; never hangs on a dead one.
   *
   * @param users of the driver
   * @throws io.cephcsi.driver.volume.VolumeException NOT_FOUND when it is not at the path
   */
  VolumeStats stats(String volumeId, Path volumePath, ClusterUsers users);
}
