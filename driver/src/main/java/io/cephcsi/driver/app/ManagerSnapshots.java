package io.cephcsi.driver.app;

import com.fasterxml.jackson.core.JsonProcessingException;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.fsck.BackingSnapshots;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.volume.Json;
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
    Map<String, String> command =
        Map.of(
            "prefix",
            "fs subvolume snapshot info",
            "format",
            "json",
            "vol_name",
            fileSystem,
            "group_name",
            group,
            "sub_name",
            subvolume.get(),
            "snap_name",
            snapshot.name());
    try {
      cluster.mgrCommand(Json.mapper().writeValueAsString(command));
      return true;
    } catch (CephException.NotFound e) {
      return false;
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(e); // a map of strings can always be written
    }
  }
}
