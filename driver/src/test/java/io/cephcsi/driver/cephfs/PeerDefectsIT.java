package io.cephcsi.driver.cephfs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.error.ReturnCode;
import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.tracker.InterferingStore;
import io.cephcsi.driver.tracker.RadosTrackerStore;
import io.cephcsi.driver.tracker.ReferenceTracker;
import io.cephcsi.driver.tracker.Trackers;
import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.ContentSource;
import io.cephcsi.driver.volume.CreatedVolume;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What goes wrong elsewhere when the manager fails in the middle of a call: it does not here. */
class PeerDefectsIT extends ManagerCase {
  private final OperationRegistry operations = new OperationRegistry(Duration.ofSeconds(30));
  private final List<String> sent = new CopyOnWriteArrayList<>();
  private Volume source = Volume.getDefaultInstance();
  private Snapshot snapshot = Snapshot.getDefaultInstance();

  @BeforeEach
  void makeSource() {
    source = driver.create(newName(), 16 * MIB);
    snapshot = driver.snapshot(newName(), source.getVolumeId());
  }

  @AfterEach
  void deleteSource() {
    STATE.delayClones(0);
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
    try (Lease lease = lease();
        SnapshotPaths paths = new SnapshotPaths()) {
      OpenFileSystem weak =
          open(
              lease,
              command -> {
                String json = command.toString();
                sent.add(json);
                if (json.contains("\"" + failing + "\"")) {
                  throw ReturnCode.exception(
                      -errno.number(), "rados_mgr_command", failing, "a test");
                }
                return command.toManager(lease.cluster()).text();
              });
      CephFsRequest request =
          new CephFsRequest(
              name,
              CephFsParameters.parse(driver.parameters()),
              CapacityRange.ANY,
              Optional.of(
                  new ContentSource.OfSnapshot(
                      VolumeId.parse(snapshot.getSnapshotId()).orElseThrow())),
              onlyRead,
              Optional.empty());
      return new CephFsVolumeCreation(
              weak,
              request,
              paths,
              new KnownSubvolumes(),
              new Trackers(),
              operations,
              CopyWait.NONE)
          .make();
    }
  }

  /** What a manager says that has just taken over. */
  private static CephException unknownFileSystem() {
    String said = "Volume '" + CLUSTER.fileSystem() + "' not found";
    return ReturnCode.exception(-Errno.ENOENT.number(), "rados_mgr_command", "a fail-over", said);
  }

  private static void assertReason(VolumeException.Reason reason, ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(reason));
  }

  @Test
  void aSnapshotIsLeftToTheRetryWhenTheFileSystemIsUnknown(@TempDir Path folder)
      throws IOException {
    String name = newName();
    VolumeId id = VolumeId.parse(source.getVolumeId()).orElseThrow();
    ClusterDirectory clusters = new ClusterDirectory(TestDriver.clustersFile(CLUSTER, folder));
    try (Lease lease = lease();
        CephFsVolumes volumes =
            new CephFsVolumes(clusters, connections, operations, "default", NO_KMS)) {
      OpenFileSystem weak =
          open(
              lease,
              command -> {
                String json = command.toString();
                String answer = command.toManager(lease.cluster()).text();
                if (json.contains("\"fs subvolume snapshot create\"")) {
                  throw unknownFileSystem();
                }
                return answer;
              });
      OpenVolume open = new OpenVolume(id, weak, weak.volumes().byUuid(id.uuid()).orElseThrow());
      assertReason(
          VolumeException.Reason.UNAVAILABLE,
          () -> new CephFsSnapshots(volumes, operations).create(name, open, "csi-snap-"));
    }
    List<String> taken = STATE.snapshots(source.getVolumeContextMap().get("subvolumeName"));
    assertThat(taken).hasSize(2);
    Snapshot made = driver.snapshot(name, source.getVolumeId());
    assertThat(taken)
        .contains("csi-snap-" + VolumeId.parse(made.getSnapshotId()).orElseThrow().uuid());
    driver.deleteSnapshot(made.getSnapshotId());
  }

  @Test
  void aSubvolumeIsLeftToTheRetryWhenTheFileSystemIsUnknown() {
    String name = newName();
    try (Lease lease = lease();
        SnapshotPaths paths = new SnapshotPaths()) {
      OpenFileSystem weak =
          open(
              lease,
              command -> {
                String json = command.toString();
                sent.add(json);
                if (json.contains("\"fs subvolume getpath\"")) {
                  throw unknownFileSystem();
                }
                return command.toManager(lease.cluster()).text();
              });
      CephFsRequest request =
          new CephFsRequest(
              name,
              CephFsParameters.parse(driver.parameters()),
              CapacityRange.ANY,
              Optional.empty(),
              false,
              Optional.empty());
      assertReason(
          VolumeException.Reason.UNAVAILABLE,
          () ->
              new CephFsVolumeCreation(
                      weak,
                      request,
                      paths,
                      new KnownSubvolumes(),
                      new Trackers(),
                      operations,
                      CopyWait.NONE)
                  .make());
    }
    assertThat(sent).noneMatch(json -> json.contains("fs subvolume rm"));
    assertThat(STATE.subvolumes()).hasSize(2);
    String made = driver.create(name, 0).getVolumeId();
    assertThat(STATE.subvolumes()).hasSize(2);
    driver.delete(made);
  }

  @Test
  void aReferenceThatComesAfterTheSnapshotIsGoneIsTakenBack() {
    try (Lease lease = lease()) {
      OpenFileSystem files = open(lease, command -> command.toManager(lease.cluster()).text());
      InterferingStore store = new InterferingStore(new RadosTrackerStore(files.metadata()));
      BackingSnapshot backing =
          new BackingSnapshot(files, new ReferenceTracker(store), snapshot.getSnapshotId());
      store.beforeNextCall(() -> driver.deleteSnapshot(snapshot.getSnapshotId()));
      assertReason(VolumeException.Reason.NOT_FOUND, () -> backing.referTo("csi-vol-late"));
      assertThat(STATE.journal()).doesNotContainKey(tracker());
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
  void aCopyThatTheManagerRefusesForNowIsBegunByTheRetry() {
    String name = newName();
    assertReason(
        VolumeException.Reason.ABORTED,
        () -> make(name, false, "fs subvolume snapshot clone", Errno.EAGAIN));
    Volume copy =
        org.awaitility.Awaitility.await()
            .atMost(Duration.ofMinutes(1))
            .ignoreExceptions()
            .until(() -> driver.restore(name, 0, snapshot.getSnapshotId()), v -> v != null);
    driver.delete(copy.getVolumeId());
  }

  @Test
  void anErrorOfTheCloneStatusStartsNoSecondClone() {
    String name = newName();
    STATE.delayClones(6);
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
    STATE.delayClones(0);
    Volume copy =
        org.awaitility.Awaitility.await()
            .atMost(Duration.ofMinutes(1))
            .ignoreExceptions()
            .until(() -> driver.restore(name, 0, snapshot.getSnapshotId()), v -> v != null);
    driver.delete(copy.getVolumeId());
    assertThat(STATE.subvolumes()).hasSize(1);
  }
}
