package io.cephcsi.driver.node.rbd;

import io.cephcsi.bindings.linux.MountedFileSystem;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.metrics.DriverMetrics;
import io.cephcsi.driver.node.ClusterUsers;
import io.cephcsi.driver.node.NodePathCheck;
import io.cephcsi.driver.node.machine.BlockDevice;
import io.cephcsi.driver.node.machine.DiskFileSystems;
import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.reclaim.ThickProvisioning;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Frees the space of RBD volumes that are mounted on this node. Gives way to whoever unmounts them.
 * Safe for several threads; blocks.
 */
public final class NodeReclaimer {
  private static final Logger LOG = LoggerFactory.getLogger(NodeReclaimer.class);

  private final RbdNode node;
  private final TrimLocks trims;
  private final NodeTrim trim;
  private final DriverMetrics metrics;

  /**
   * @param node knows the volumes
   * @param trims stops a trim before the volume is unmounted
   * @param bytesPerSecond how many free bytes of a volume are discarded in a second at most; 0 for
   *     no limit
   * @param metrics where reclaims are counted
   */
  public NodeReclaimer(RbdNode node, TrimLocks trims, long bytesPerSecond, DriverMetrics metrics) {
    this.node = node;
    this.trims = trims;
    this.trim = new NodeTrim(bytesPerSecond);
    this.metrics = metrics;
  }

  /**
   * Reclaims the space of one volume.
   *
   * @param volumePath where it is shown; empty when the request does not say
   * @param stagingPath where it is staged; empty when the request does not say
   * @param users for measuring the image; without one the file system is measured
   * @throws VolumeException NOT_FOUND when it is not there; UNIMPLEMENTED when it cannot be
   *     reclaimed, whenever that is tried; ABORTED when it gave way before the end: the caller
   *     would take the volume for reclaimed, and not come back to do the rest
   */
  public Result reclaim(
      String id,
      Optional<Path> volumePath,
      Optional<Path> stagingPath,
      ClusterUsers users,
      Operation operation) {
    try (TrimLocks.Trim running = trims.begin(id)) {
      Mount mount =
          node.mounted(
              id,
              volumePath.map(path -> NodePathCheck.resolved(path, "volume_path")),
              stagingPath.map(path -> NodePathCheck.resolved(path, "staging_target_path")));
      BlockDevice device = fileSystemDevice(id, mount);
      if (!node.isAlive(mount)) {
        throw new VolumeException(
            Reason.UNAVAILABLE, "volume " + id + ": its device is not served any more");
      }
      OptionalLong before =
          usage(
              id,
              mount,
              users,
              image -> {
                requireThin(id, image);
                return RbdNode.usage(image);
              });
      NodeTrim.Outcome trimmed =
          trim.run(mount, device, operation, () -> operation.isCancelled() || running.mustStop());
      operation.phase("measure");
      OptionalLong after = usage(id, mount, users, RbdNode::usage);
      report(id, mount, trimmed, before, after);
      if (!trimmed.complete()) {
        throw new VolumeException(
            Reason.ABORTED,
            "volume "
                + id
                + " was not reclaimed to the end: "
                + (operation.isCancelled() ? operation.whyCancelled() : "it is being unmounted")
                + "; try again later");
      }
      return new Result(before, after);
    }
  }

  private void report(
      String id, Mount mount, NodeTrim.Outcome trimmed, OptionalLong before, OptionalLong after) {
    long freed =
        before.isPresent() && after.isPresent()
            ? Math.max(0, before.getAsLong() - after.getAsLong())
            : 0;
    metrics.reclaim(trimmed.complete() ? "done" : "gave_way", freed, 0);
    LOG.info(
        "volume {} at {}: {} bytes discarded, {} bytes freed in the pool{}",
        id,
        mount.target(),
        trimmed.discarded(),
        freed,
        trimmed.complete() ? "" : "; gave way before the end");
  }

  private static BlockDevice fileSystemDevice(String id, Mount mount) {
    String why;
    if (mount.isDevice()) {
      why =
          "it is used as a block device: what its user does not need any more, only he knows; he"
              + " can discard it himself";
    } else if (!mount.fsType().equals(DiskFileSystems.EXT4)
        && !mount.fsType().equals(DiskFileSystems.XFS)) {
      why = "its file system is " + mount.fsType();
    } else if (mount.superOptions().contains("ro")) {
      why = "it is mounted for reading only";
    } else {
      return BlockDevice.require(Path.of(mount.source()));
    }
    throw new VolumeException(
        Reason.UNIMPLEMENTED, "volume " + id + " cannot be reclaimed: " + why);
  }

  private static void requireThin(String id, RbdImage image) {
    if (ThickProvisioning.isOf(image)) {
      throw new VolumeException(
          Reason.UNIMPLEMENTED, "volume " + id + " is not reclaimed: " + ThickProvisioning.DETAIL);
    }
  }

  private OptionalLong usage(
      String id, Mount mount, ClusterUsers users, Function<RbdImage, OptionalLong> measure) {
    return node.ofImage(id, mount, users, measure)
        .orElseGet(() -> OptionalLong.of(new MountedFileSystem(mount.target()).room().usedBytes()));
  }

  /**
   * What a reclaim came to.
   *
   * @param before used bytes before; empty when they could not be measured
   * @param after used bytes after
   */
  public record Result(OptionalLong before, OptionalLong after) {}
}
