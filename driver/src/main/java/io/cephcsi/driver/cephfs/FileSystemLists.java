package io.cephcsi.driver.cephfs;

import io.cephcsi.bindings.cephfs.CephFsMount;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.cluster.MonitorQueries;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.journal.ClusterView;
import io.cephcsi.driver.journal.DamagedEntries;
import io.cephcsi.driver.journal.JournalDirectory.Name;
import java.util.List;
import java.util.Optional;

/**
 * What the readers of lists share: they mount the file system of a journal while a batch is read.
 *
 * @param instanceId tells several drivers on one file system apart
 */
record FileSystemLists(String instanceId) {
  List<Long> journalPools(ClusterView cluster) {
    return Storage.CEPHFS.journalPools(cluster.lease());
  }

  /** Reads a batch of names, many at once, with one mount; damaged entries are left out. */
  <T> List<Optional<T>> mounted(
      ClusterView cluster,
      IoContext journalPool,
      SnapshotPaths paths,
      List<Name> names,
      Look<T> look) {
    Optional<OpenFileSystem> found =
        MonitorQueries.fileSystems(cluster.lease().cluster()).stream()
            .filter(info -> info.metadataPoolId() == journalPool.poolId())
            .findFirst()
            .map(info -> OpenFileSystem.open(cluster.lease(), info, instanceId));
    List<Optional<T>> nothing = names.stream().map(name -> Optional.<T>empty()).toList();
    if (found.isEmpty() || names.isEmpty()) {
      return nothing;
    }
    OpenFileSystem files = found.get();
    return paths
        .mounted(
            files,
            mount ->
                Optional.of(
                    cluster
                        .reads()
                        .map(
                            names,
                            name ->
                                DamagedEntries.skip(
                                    files.info().name() + ": " + name.uuid(),
                                    () -> look.at(files, mount, name)))))
        .orElse(nothing);
  }

  /** Looks at what a name stands for. */
  interface Look<T> {
    Optional<T> at(OpenFileSystem files, CephFsMount mount, Name name);
  }
}
