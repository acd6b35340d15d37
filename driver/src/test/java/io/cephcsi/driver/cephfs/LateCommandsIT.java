package io.cephcsi.driver.cephfs;

import static io.cephcsi.driver.testing.Statuses.untilNotAborted;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.tracker.Trackers;
import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.ContentSource;
import io.cephcsi.driver.volume.CreatedSnapshot;
import io.cephcsi.driver.volume.CreatedVolume;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The manager carries out a command of one driver so late, as after a partition, that another
 * driver has answered the same name meanwhile.
 */
class LateCommandsIT extends ManagerCase {
  private final OperationRegistry operations = new OperationRegistry(Duration.ofSeconds(30));
  private final String name = "pvc-" + UUID.randomUUID();
  private Volume source = Volume.getDefaultInstance();

  @BeforeEach
  void makeSource() {
    source = driver.create(name + "-source", 16 * MIB);
  }

  @AfterEach
  void nothingIsLeft() {
    driver.delete(source.getVolumeId());
    // The manager purges a deleted volume that a snapshot outlives later than it removes the last.
    Awaitility.await()
        .atMost(Duration.ofMinutes(1))
        .untilAsserted(() -> assertThat(STATE.leftovers()).isEmpty());
  }

  /** The file system, with a manager that lets something happen before its first such command. */
  private static OpenFileSystem late(Lease lease, String command, Runnable meanwhile) {
    AtomicBoolean happened = new AtomicBoolean();
    return open(
        lease,
        sent -> {
          if (sent.toString().contains("\"" + command + "\"")
              && happened.compareAndSet(false, true)) {
            meanwhile.run();
          }
          return sent.toManager(lease.cluster()).text();
        });
  }

  private CreatedVolume make(Optional<ContentSource> content, String command, Runnable meanwhile) {
    return make(content, lease -> late(lease, command, meanwhile));
  }

  private CreatedVolume make(
      Optional<ContentSource> content, Function<Lease, OpenFileSystem> open) {
    try (Lease lease = lease();
        SnapshotPaths paths = new SnapshotPaths()) {
      CephFsRequest request =
          new CephFsRequest(
              name,
              CephFsParameters.parse(driver.parameters()),
              CapacityRange.ANY,
              content,
              false,
              Optional.empty());
      OpenFileSystem files = open.apply(lease);
      return new CephFsVolumeCreation(
              files,
              request,
              paths,
              new KnownSubvolumes(),
              new Trackers(),
              operations,
              CopyWait.NONE)
          .make();
    }
  }

  private CreatedVolume copy(Snapshot snapshot, Runnable meanwhile) {
    VolumeId id = VolumeId.parse(snapshot.getSnapshotId()).orElseThrow();
    return make(
        Optional.of(new ContentSource.OfSnapshot(id)), "fs subvolume snapshot clone", meanwhile);
  }

  private CreatedSnapshot take(Path folder, String command, Runnable meanwhile) throws IOException {
    VolumeId id = VolumeId.parse(source.getVolumeId()).orElseThrow();
    ClusterDirectory clusters = new ClusterDirectory(TestDriver.clustersFile(CLUSTER, folder));
    try (Lease lease = lease();
        CephFsVolumes volumes =
            new CephFsVolumes(clusters, connections, operations, "default", NO_KMS)) {
      OpenFileSystem files = late(lease, command, meanwhile);
      OpenVolume open = new OpenVolume(id, files, files.volumes().byUuid(id.uuid()).orElseThrow());
      return new CephFsSnapshots(volumes, operations).create(name, open, "csi-snap-");
    }
  }

  private static Volume await(CreateVolumeRequest request) {
    return untilNotAborted(
        Duration.ofMinutes(1), () -> driver.controller().createVolume(request).getVolume());
  }

  @Test
  void aCopyWhoseSourceIsGoneWhenItIsBegunAgainIsLeftToWhoeverHasIt() {
    Snapshot snapshot = driver.snapshot(name + "-source", source.getVolumeId());
    CreateVolumeRequest request = driver.restoreRequest(name, 0, snapshot.getSnapshotId()).build();
    assertThatThrownBy(
            () ->
                copy(
                    snapshot,
                    () -> {
                      String path = await(request).getVolumeContextMap().get("subvolumePath");
                      STATE.write(path + "/file", "written since");
                      driver.deleteSnapshot(snapshot.getSnapshotId());
                    }))
        .hasMessageContaining("does not exist");
    Volume copy = await(request);
    assertThat(STATE.read(copy.getVolumeContextMap().get("subvolumePath") + "/file"))
        .isEqualTo("written since");
    driver.delete(copy.getVolumeId());
  }

  @Test
  void aVolumeThatIsMadeAfterItsDeletionIsRemoved() {
    assertThatThrownBy(
            () ->
                make(
                    Optional.empty(),
                    "fs subvolume create",
                    () -> driver.delete(driver.create(name, 16 * MIB).getVolumeId())))
        .hasMessageContaining("was deleted meanwhile");
    assertThat(STATE.subvolumes()).containsExactly(subvolume(source));
  }

  @Test
  void aVolumeThatIsMadeDuringItsDeletionIsRemoved() {
    String[] id = new String[1];
    assertThatThrownBy(
            () ->
                make(
                    Optional.empty(),
                    "fs subvolume create",
                    () -> {
                      id[0] = driver.create(name, 16 * MIB).getVolumeId();
                      STATE.markDeleting(id[0]);
                    }))
        .hasMessageContaining("was deleted meanwhile");
    assertThat(STATE.subvolumes()).containsExactly(subvolume(source));
    driver.delete(id[0]);
  }

  /** What it looked for before it undoes its reservation, another driver makes right after that. */
  @Test
  void aVolumeThatAnotherDriverMakesKeepsItsEntryWhenThisCallFails() {
    Volume[] made = new Volume[1];
    assertThatThrownBy(
            () ->
                make(
                    Optional.empty(),
                    lease ->
                        open(
                            lease,
                            sent -> {
                              if (sent.toString().contains("\"fs subvolume create\"")) {
                                throw new CephException("fs subvolume create", name, -28, "");
                              }
                              try {
                                return sent.toManager(lease.cluster()).text();
                              } finally {
                                if (sent.toString().contains("\"fs clone status\"")
                                    && made[0] == null) {
                                  made[0] = driver.create(name, 16 * MIB);
                                  STATE.write(path(made[0]) + "/file", "written since");
                                }
                              }
                            })))
        .hasMessageContaining("ENOSPC");
    assertThat(made[0]).isNotNull();
    assertThat(driver.create(name, 16 * MIB).getVolumeId()).isEqualTo(made[0].getVolumeId());
    assertThat(STATE.read(path(made[0]) + "/file")).isEqualTo("written since");
    driver.delete(made[0].getVolumeId());
  }

  private static String path(Volume volume) {
    return volume.getVolumeContextMap().get("subvolumePath");
  }

  @Test
  void aCopyThatIsBegunAfterItsDeletionIsRemoved() {
    Snapshot snapshot = driver.snapshot(name + "-source", source.getVolumeId());
    CreateVolumeRequest request = driver.restoreRequest(name, 0, snapshot.getSnapshotId()).build();
    assertThatThrownBy(() -> copy(snapshot, () -> driver.delete(await(request).getVolumeId())))
        .hasMessageContaining("was deleted meanwhile");
    assertThat(STATE.subvolumes()).containsExactly(subvolume(source));
    Awaitility.await() // until the manager has forgotten the copy
        .atMost(Duration.ofMinutes(1))
        .ignoreExceptionsInstanceOf(StatusRuntimeException.class)
        .untilAsserted(() -> driver.deleteSnapshot(snapshot.getSnapshotId()));
  }

  @Test
  void aSnapshotThatIsTakenAfterItsDeletionIsRemoved(@TempDir Path folder) {
    assertThatThrownBy(
            () ->
                take(
                    folder,
                    "fs subvolume snapshot create",
                    () ->
                        driver.deleteSnapshot(
                            driver.snapshot(name, source.getVolumeId()).getSnapshotId())))
        .hasMessageContaining("was deleted meanwhile");
    assertThat(STATE.snapshots(subvolume(source))).isEmpty();
  }

  @Test
  void aSnapshotWhoseReservationIsBeingUndoneGetsAnotherId() {
    UUID left = reservedAndMarked();
    Snapshot taken = driver.snapshot(name, source.getVolumeId());
    assertThat(taken.getSnapshotId()).doesNotContain(left.toString());
    assertThat(STATE.journal()).doesNotContainKey(JournalKind.SNAPSHOT.object(left));
    driver.deleteSnapshot(taken.getSnapshotId());
  }

  @Test
  void aReservationThatIsBeingUndoneIsUndoneWhenTheVolumeIsGone() {
    UUID left = reservedAndMarked();
    driver.delete(source.getVolumeId());
    assertThatThrownBy(() -> driver.snapshot(name, source.getVolumeId()))
        .hasMessageContaining("does not exist");
    assertThat(STATE.journal()).doesNotContainKey(JournalKind.SNAPSHOT.object(left));
  }

  /** The entry of a snapshot that was not taken, as a call leaves it that dies while it undoes. */
  private UUID reservedAndMarked() {
    UUID uuid;
    try (Lease lease = lease()) {
      uuid =
          late(lease, "", () -> {})
              .snapshots()
              .reserve(
                  name, any -> "csi-snap-" + any, Map.of(JournalEntry.SOURCE, subvolume(source)))
              .uuid();
    }
    STATE.setOmap(JournalKind.SNAPSHOT.object(uuid), "csi.java.deleting", "2026-01-01T00:00:00Z x");
    return uuid;
  }

  @Test
  void aSmallerSizeThatAnotherDriverSetsMeanwhileIsReplaced() {
    try (Lease lease = lease()) {
      SubvolumeAdmin others = late(lease, "", () -> {}).admin();
      SubvolumeAdmin admin =
          late(
                  lease,
                  "fs subvolume info",
                  () -> assertThat(others.grow(subvolume(source), 32 * MIB)).isPresent())
              .admin();
      assertThat(admin.grow(subvolume(source), 64 * MIB).orElseThrow().quota()).isEqualTo(64 * MIB);
    }
    assertThat(STATE.info(subvolume(source)).get("bytes_quota").asLong()).isEqualTo(64 * MIB);
  }

  @Test
  void aSnapshotOfAnotherDriverOutlivesItsVolumesDeletion(@TempDir Path folder) {
    Snapshot[] taken = new Snapshot[1];
    assertThatThrownBy(
            () ->
                take(
                    folder,
                    "fs subvolume snapshot create",
                    () -> {
                      taken[0] = driver.snapshot(name, source.getVolumeId());
                      driver.delete(source.getVolumeId());
                    }))
        .hasMessageContaining("is gone");
    assertThat(driver.snapshot(name, source.getVolumeId())).isEqualTo(taken[0]);
    driver.deleteSnapshot(taken[0].getSnapshotId());
  }
}
