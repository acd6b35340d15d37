package io.cephcsi.driver.node;

import java.nio.file.Path;

/** Tells what is ours of what is mounted on this node. No call hangs on a dead file system. */
interface MountOwner {
  /** Whether a mount shows a volume of this driver's, dead or alive. */
  boolean isOurs(Mount mount);

  /** Whether what a mount shows is ours and dead. */
  boolean isDead(Mount mount);

  /** Whether a volume is made ready at a path. */
  boolean isStaging(Path path);
}
