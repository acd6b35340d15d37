package io.cephcsi.driver.rbd.group;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.rbd.parameters.SnapshotParameters;
import io.cephcsi.driver.volume.GroupSources;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeId;
import java.util.Set;

/** Checks, before anything is changed, that a group snapshot of some volumes is possible. */
final class GroupSnapshotSources {
  private GroupSnapshotSources() {}

  static void requireTogether(Set<VolumeId> sources, SnapshotParameters parameters) {
    if (parameters.staysOnImage()) {
      throw VolumeException.invalid("parameters: snapshots of groups cannot be native ones");
    }
    GroupSources.requireTogether(sources, RbdGroups.MAX_MEMBERS, parameters.clusterId(), "pools");
  }

  static void requirePool(SnapshotParameters parameters, IoContext io) {
    parameters
        .pool()
        .filter(pool -> !pool.equals(io.pool()))
        .ifPresent(
            pool -> {
              throw VolumeException.invalid(
                  "parameters: pool is " + pool + ", but the volumes are in " + io.pool());
            });
  }
}
