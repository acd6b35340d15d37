package io.cephcsi.driver.cli;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.cluster.CephCommand;
import io.cephcsi.driver.fsck.BackingSnapshots;
import io.cephcsi.driver.journal.JournalEntry;
import java.util.Map;
import java.util.Optional;

/**
 * The snapshots of subvolumes, as the manager knows them ({@code fs subvolume snapshot info}).
 *
 * @param cluster the connection
 * @param fileSystem the name of the file system
 * @param group the group of its subvolumes
 */
record ManagerSnapshots(RadosCluster cluster, String fileSystem, String group)
    implements BackingSnapshots {

  @Override
  public boolean exists(JournalEntry snapshot) {
    Optional<String> subvolume = snapshot.source();
    if (subvolume.isEmpty()) {
      return false;
    }
    Map<String, String> arguments =
        Map.of(
            "vol_name",
            fileSystem,
            "group_name",
            group,
            "sub_name",
            subvolume.get(),
            "snap_name",
            snapshot.name());
    try {
      CephCommand.of("fs subvolume snapshot info", arguments).toManager(cluster);
      return true;
    } catch (CephException.NotFound e) {
      return false;
    }
  }
}
