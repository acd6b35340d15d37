package io.cephcsi.driver.fsck.check;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.cephfs.CephFsMount;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.driver.cluster.FileSystemInfo;
import io.cephcsi.driver.cluster.MonitorQueries;
import io.cephcsi.driver.fsck.CheckProgress;
import io.cephcsi.driver.fsck.CheckSettings;
import io.cephcsi.driver.fsck.Finding;
import io.cephcsi.driver.fsck.Workers;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.testing.LocalCluster;
import io.cephcsi.testing.TestCluster;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.function.Consumer;

/** A cluster of its own with a driver of CephFS volumes, and checks of its file system. */
final class CheckedFileSystem implements AutoCloseable {
  static final String VOLUMES = "csi.volumes.default";
  static final String SNAPSHOTS = "csi.snaps.default";
  static final long MIB = 1L << 20;

  private final LocalCluster ceph;
  private final TestDriver driver;
  private final RadosCluster connection;
  private final FileSystemInfo fileSystem;
  private final IoContext io;
  private final CephFsMount mount;
  private Map<UUID, Long> sizes = Map.of();
  private Set<String> groups = Set.of("csi");

  CheckedFileSystem(String name) {
    ceph = TestCluster.start(name);
    driver = TestDriver.cephFs(ceph).withCredentials().start();
    connection = ceph.connect();
    fileSystem = MonitorQueries.fileSystems(connection).get(0);
    io = connection.openPool(fileSystem.metadataPoolId(), "csi");
    mount = CephFsMount.mount(connection, fileSystem.name(), "/");
  }

  /** What is unfinished counts, however young. */
  List<Finding> check() {
    return check(Duration.ZERO, Duration.ZERO);
  }

  List<Finding> check(Duration settle, Duration minAge) {
    List<Finding> findings = new ArrayList<>();
    check(settle, minAge, result -> findings.addAll(result.findings()));
    return findings;
  }

  /** Mends what is found; what was done. */
  List<String> repair() {
    List<String> done = new ArrayList<>();
    check(
        Duration.ZERO,
        Duration.ZERO,
        result ->
            result
                .findings()
                .forEach(
                    finding ->
                        finding.repair().flatMap(Finding.Repair::mend).ifPresent(done::add)));
    return done;
  }

  private void check(Duration settle, Duration minAge, Consumer<FileSystemCheck.Result> mend) {
    CheckSettings settings = new CheckSettings(16, 0, settle, minAge, Duration.ZERO, true);
    try (Workers workers = new Workers(settings)) {
      new FileSystemCheck(
              settings,
              workers,
              new CheckProgress(),
              Set.of("default"),
              new FileSystemCheck.Place(io.namespace(), groups, Set.of(), true),
              sizes)
          .check(connection, fileSystem, io, mend);
    }
  }

  /** What volumes should have at least, in bytes. */
  void expect(Map<UUID, Long> wanted) {
    sizes = wanted;
  }

  static UUID uuid(String id) {
    return VolumeId.parse(id).orElseThrow().uuid();
  }

  /** The directory of a subvolume. */
  String path(UUID volume) {
    return ceph.ceph(
            "fs",
            "subvolume",
            "getpath",
            fileSystem.name(),
            "csi-vol-" + volume,
            "--group_name",
            "csi")
        .strip();
  }

  /** Sets a key, or removes it if the value is empty. */
  void set(String object, String key, byte[] value) {
    try (WriteOperation write = new WriteOperation()) {
      io.operate(
          object, value.length == 0 ? write.omapRemove(List.of(key)) : write.omapSet(key, value));
    }
  }

  void set(String object, String key, String value) {
    set(object, key, value.getBytes(UTF_8));
  }

  LocalCluster ceph() {
    return ceph;
  }

  TestDriver driver() {
    return driver;
  }

  String name() {
    return fileSystem.name();
  }

  IoContext io() {
    return io;
  }

  /** The whole file system. */
  CephFsMount mount() {
    return mount;
  }

  @Override
  public void close() {
    mount.close();
    io.close();
    connection.close();
    driver.close();
    ceph.close();
  }
}
