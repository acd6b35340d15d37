package io.cephcsi.driver.node;

import io.cephcsi.driver.node.machine.Mount;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Tells what of the mounts on this node shows volumes. The kind of a mount does not: administrators
 * and other drivers mount CephFS and images, too. No call hangs on a dead file system.
 */
public interface MountOwner {
  /** Whether a mount is of the kind that shows volumes, dead or alive. */
  boolean isOfKind(Mount mount);

  /**
   * Whether a mount shows the same as the staging path of a volume.
   *
   * @return empty when it shows the same as no staging path that is written down
   */
  Optional<Boolean> isStagedAs(String volumeId, Mount mount);

  /** Whether what a mount of the kind shows is dead. */
  boolean isDead(Mount mount);

  /** Whether a volume is staged at a path. */
  boolean isStaging(Path path);
}
