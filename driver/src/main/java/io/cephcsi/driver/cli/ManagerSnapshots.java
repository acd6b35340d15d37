package io.cephcsi.driver.cli;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.cluster.CephCommand;
import io.cephcsi.driver.fsck.BackingSnapshots;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.volume.Json;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The snapshots of subvolumes, as the manager knows them ({@code fs subvolume snapshot info}): in a
 * group, and what is not there in all others, as one journal may be of several groups. Safe for
 * several threads; a look blocks until the manager answers, and throws a {@link CephException} if
 * the user may not ask it.
 */
final class ManagerSnapshots implements BackingSnapshots {
  private final RadosCluster cluster;
  private final String fileSystem;
  private final String group;
  private @Nullable List<String> others;

  /**
   * @param cluster the connection
   * @param fileSystem the name of the file system
   * @param group the group of subvolumes that is asked first
   */
  ManagerSnapshots(RadosCluster cluster, String fileSystem, String group) {
    this.cluster = cluster;
    this.fileSystem = fileSystem;
    this.group = group;
  }

  @Override
  public boolean exists(JournalEntry snapshot) {
    Optional<String> subvolume = snapshot.source();
    return subvolume.isPresent()
        && (exists(group, subvolume.get(), snapshot.name())
            || others().stream().anyMatch(o -> exists(o, subvolume.get(), snapshot.name())));
  }

  private boolean exists(String in, String subvolume, String snapshot) {
    Map<String, String> arguments =
        Map.of(
            "vol_name", fileSystem, "group_name", in, "sub_name", subvolume, "snap_name", snapshot);
    try {
      CephCommand.of("fs subvolume snapshot info", arguments).toManager(cluster);
      return true;
    } catch (CephException.NotFound e) {
      return false;
    }
  }

  /** The other groups of the file system, read once. */
  private synchronized List<String> others() {
    if (others == null) {
      Map<String, String> arguments = Map.of("vol_name", fileSystem);
      List<String> names = new ArrayList<>();
      try {
        Json.mapper()
            .readTree(CephCommand.of("fs subvolumegroup ls", arguments).toManager(cluster).text())
            .forEach(found -> names.add(found.path("name").asText()));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      names.remove(group);
      others = names;
    }
    return others;
  }
}
