package io.cephcsi.driver.cephfs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.error.ReturnCode;
import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.ConnectionPool;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.testing.SubvolumeState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.ContentSource;
import io.cephcsi.driver.volume.CreatedVolume;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.TestCluster;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What goes wrong elsewhere when the manager fails in the middle of a call: it does not here. */
class PeerDefectsIT {
  private static final long MIB = 1L << 20;
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final SubvolumeState STATE = new SubvolumeState(CLUSTER);
  private static TestDriver driver;
  private static ConnectionPool connections;

  private final OperationRegistry operations = new OperationRegistry(Duration.ofSeconds(30));
  private final List<String> sent = new CopyOnWriteArrayList<>();
  private Volume source = Volume.getDefaultInstance();
  private Snapshot snapshot = Snapshot.getDefaultInstance();

  @BeforeAll
  static void start() {
    driver = TestDriver.startCephFs(CLUSTER, "default", true);
    connections = new ConnectionPool(Duration.ofSeconds(15), Duration.ofSeconds(30));
  }

  @AfterAll
  static void stop() {
    connections.close();
    driver.close();
  }

  @BeforeEach
  void makeSource() {
    source = driver.create(newName(), 16 * MIB);
    snapshot = driver.snapshot(newName(), source.getVolumeId());
  }

  @AfterEach
  void deleteSource() {
    driver.deleteSnapshot(snapshot.getSnapshotId());
    driver.delete(source.getVolumeId());
    assertThat(STATE.leftovers()).isEmpty();
  }

  private static String newName() {
    return "pvc-" + UUID.randomUUID();
  }

  private String tracker() {
    return "rt-backingsnapshot-" + snapshot.getSnapshotId();
  }

  /** Makes a volume with a manager that fails one kind of command. */
  private CreatedVolume make(String name, boolean onlyRead, String failing, Errno errno) {
    ClusterConfig config =
        new ClusterConfig(TestDriver.CLUSTER_ID, List.of(CLUSTER.monitors()), "", "csi", "csi");
    try (Lease lease = connections.lease(config, Credentials.fromSecrets(driver.secrets()));
        SnapshotPaths paths = new SnapshotPaths()) {
      OpenFileSystem files = OpenFileSystem.named(lease, CLUSTER.fileSystem(), "default");
      ManagerCommands commands =
          json -> {
            sent.add(json);
            if (json.contains("\"" + failing + "\"")) {
              throw ReturnCode.exception(-errno.number(), "rados_mgr_command", failing, "a test");
            }
            return lease.cluster().mgrCommand(json).text();
          };
      OpenFileSystem weak =
          new OpenFileSystem(
              lease,
              files.info(),
              files.metadata(),
              new SubvolumeAdmin(commands, CLUSTER.fileSystem(), "csi"),
              "default");
      CephFsRequest request =
          new CephFsRequest(
              name,
              CephFsParameters.parse(driver.parameters()),
              CapacityRange.ANY,
              Optional.of(
                  new ContentSource.OfSnapshot(
                      VolumeId.parse(snapshot.getSnapshotId()).orElseThrow())),
              onlyRead);
      return new CephFsVolumeMaker(weak, request, paths, new Trackers(), operations).make();
    }
  }

  @Test
  void whenTheSnapshotCannotBeLookedAtNoReferenceIsTakenBack() {
    Volume other = driver.show(newName(), snapshot.getSnapshotId());
    Map<String, String> before = STATE.journal().get(tracker());
    String name = newName();
    for (Errno errno : List.of(Errno.ETIMEDOUT, Errno.EIO)) {
      assertThatThrownBy(() -> make(name, true, "fs subvolume snapshot info", errno))
          .isInstanceOf(CephException.class);
      assertThat(STATE.journal().get(tracker())).containsAllEntriesOf(before);
    }
    Volume made = driver.show(name, snapshot.getSnapshotId());
    driver.delete(other.getVolumeId());
    assertThat(STATE.journal().get(tracker())).hasSize(2);
    driver.delete(made.getVolumeId());
    assertThat(STATE.snapshots(source.getVolumeContextMap().get("subvolumeName"))).hasSize(1);
  }

  @Test
  void anErrorOfTheCloneStatusStartsNoSecondClone() {
    String name = newName();
    assertThatThrownBy(() -> make(name, false, "no such command", Errno.EIO))
        .isInstanceOf(VolumeException.class)
        .hasMessageContaining("has begun");
    sent.clear();
    for (Errno errno : List.of(Errno.EIO, Errno.ETIMEDOUT, Errno.EAGAIN)) {
      assertThatThrownBy(() -> make(name, false, "fs clone status", errno))
          .isInstanceOf(CephException.class);
    }
    assertThat(sent).noneMatch(json -> json.contains("snapshot clone"));
    assertThat(sent).noneMatch(json -> json.contains("fs subvolume rm"));
    Volume copy =
        org.awaitility.Awaitility.await()
            .ignoreExceptions()
            .until(() -> driver.restore(name, 0, snapshot.getSnapshotId()), v -> v != null);
    driver.delete(copy.getVolumeId());
    assertThat(STATE.subvolumes()).hasSize(1);
  }
}
