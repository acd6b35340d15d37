package io.cephcsi.driver.cli;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.app.ConfigException;
import io.cephcsi.driver.cluster.FileSystemInfo;
import io.cephcsi.driver.cluster.MonitorQueries;
import io.cephcsi.driver.volume.VolumeId;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Which file system a command is about, and how it is reached. */
final class FileSystemOptions {
  @Mixin private final ClusterOptions connection = new ClusterOptions();

  @Option(
      names = "--file-system",
      paramLabel = "NAME",
      description = "the file system, when there are several and no id says which")
  private @Nullable String name;

  @Option(
      names = "--rados-namespace",
      paramLabel = "NAME",
      description = "the namespace of the journal (default: that of --cluster, or csi)")
  private @Nullable String namespace;

  @Option(
      names = "--group",
      paramLabel = "NAME",
      description = "the subvolume group (default: that of --cluster, or csi)")
  private @Nullable String group;

  @Option(names = "--instanceid", paramLabel = "ID", description = "the instance of the journal")
  private String instanceId = DriverSettings.INSTANCE_ID;

  String instanceId() {
    return instanceId;
  }

  RadosCluster connect() {
    return connection.connect(Map.of());
  }

  String group() {
    return group == null ? connection.subvolumeGroup() : group;
  }

  /** The pool of the journal and the trackers. */
  IoContext openMetadata(RadosCluster cluster, FileSystemInfo fileSystem) {
    return cluster.openPool(
        fileSystem.metadataPoolId(), namespace == null ? connection.cephFsNamespace() : namespace);
  }

  /**
   * The file system that ids of snapshots say; without ids that of {@code --file-system}, or the
   * only one.
   */
  FileSystemInfo choose(RadosCluster cluster, List<String> snapshotIds) {
    List<FileSystemInfo> all = MonitorQueries.fileSystems(cluster);
    List<FileSystemInfo> fitting = all.stream().filter(each -> fits(each, snapshotIds)).toList();
    if (fitting.size() == 1) {
      return fitting.get(0);
    }
    String names = String.join(", ", all.stream().map(FileSystemInfo::name).toList());
    throw new ConfigException(
        (fitting.isEmpty() ? "no file system fits" : "name one by --file-system")
            + "; the cluster has: "
            + (names.isEmpty() ? "none" : names));
  }

  private boolean fits(FileSystemInfo fileSystem, List<String> snapshotIds) {
    return (name == null || fileSystem.name().equals(name))
        && snapshotIds.stream().allMatch(text -> id(text).location() == fileSystem.id());
  }

  private static VolumeId id(String text) {
    return VolumeId.parse(text)
        .orElseThrow(() -> new ConfigException(text + " is not the id of a snapshot"));
  }
}
