package io.cephcsi.driver.node.rbd;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.driver.node.LivenessProbes;
import io.cephcsi.driver.node.StageRequest;
import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;

/** What is mounted where a volume is to be staged once more. */
final class StagedMount {
  private StagedMount() {}

  /**
   * Requires that it was staged for the same use, and works.
   *
   * @throws VolumeException ALREADY_EXISTS, or UNAVAILABLE after an error of the file system
   */
  static void requireSame(StageRequest request, Mount there) {
    boolean block = there.isDevice();
    boolean otherKind =
        !block
            && !request.use().fsType().isEmpty()
            && !request.use().fsType().equals(there.fsType());
    boolean otherAccess =
        !block && there.options().contains("ro") != request.use().mountedReadOnly();
    if (block != request.use().block() || otherKind || otherAccess) {
      throw new VolumeException(
          Reason.ALREADY_EXISTS,
          "volume "
              + request.volumeId()
              + " is staged at "
              + request.stagingPath()
              + " with another volume_capability");
    }
    if (!block && there.hasFailed()) {
      throw new VolumeException(
          Reason.UNAVAILABLE,
          "volume "
              + request.volumeId()
              + ": the kernel lets nobody write to its file system after an error (see its log);"
              + " unpublish and unstage it, and it is checked when it is staged again");
    }
  }

  /**
   * XFS that has shut down, as when its device came back too late, looks sound in the table. What
   * does not answer would hold this call, and the locks that it has, for as long.
   */
  static void requireAnswer(StageRequest request, Mount there, LivenessProbes probes) {
    if (there.isDevice()) {
      return;
    }
    boolean answers;
    try {
      answers = probes.room(there).isPresent();
    } catch (CephException e) {
      throw new VolumeException(
          Reason.UNAVAILABLE,
          "volume "
              + request.volumeId()
              + ": the file system at "
              + there.target()
              + " is shut down: unpublish and unstage it",
          e);
    }
    if (!answers) {
      throw new VolumeException(
          Reason.UNAVAILABLE,
          "volume "
              + request.volumeId()
              + ": the file system at "
              + there.target()
              + " does not answer: its cluster may be out of reach; try again later");
    }
  }
}
