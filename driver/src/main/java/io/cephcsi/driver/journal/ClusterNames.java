package io.cephcsi.driver.journal;

import java.util.UUID;

/** How what is reserved is named on the cluster. */
@FunctionalInterface
public interface ClusterNames {
  /** The name for a uuid. */
  String of(UUID uuid);

  /**
   * Whether there is something of a name, where nothing can be before its entry: asked only of a
   * reservation that has lost its entry. May block on the cluster.
   */
  default boolean isTaken(String name) {
    return false;
  }
}
