package io.cephcsi.driver.cephfs;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * What commands make that the manager carries out after the deletion, when the driver that sent
 * them has long been killed.
 */
class DeletedNamesIT extends ManagerCase {
  private static final String DELETED = "csi.java.deleted.default";
  private static final Duration SOON = Duration.ofMillis(100);
  private static final Duration MOST = Duration.ofMinutes(10);
  private static final Duration LIMIT = Duration.ofMinutes(2);

  private final String name = "pvc-" + UUID.randomUUID();
  private Volume source = Volume.getDefaultInstance();

  /** A driver that a test before this one killed may have left a name that is kept for minutes. */
  @BeforeEach
  void makeSource() {
    try {
      STATE.omap(DELETED).keySet().forEach(former -> STATE.removeOmap(DELETED, former));
    } catch (CephException.NotFound e) {
      // there are none
    }
    source = driver.create(name + "-source", 16 * MIB);
  }

  @AfterEach
  void nothingIsLeft() {
    driver.delete(source.getVolumeId());
    Awaitility.await().atMost(LIMIT).untilAsserted(() -> assertThat(STATE.leftovers()).isEmpty());
  }

  private static String nameOf(Snapshot snapshot) {
    VolumeId id = VolumeId.parse(snapshot.getSnapshotId()).orElseThrow();
    return "csi-snap-" + id.uuid();
  }

  /** Looks at names again and again, for as long as the work takes. */
  private static void looking(Duration kept, Runnable work) {
    looking(kept, ManagerCase::lease, work);
  }

  private static void looking(Duration kept, Supplier<Lease> place, Runnable work) {
    try (Lease lease = place.get();
        SnapshotPaths paths = new SnapshotPaths();
        LateCommands late =
            new LateCommands(
                connections, "default", paths, new LateCommands.Times(SOON, SOON, kept, MOST))) {
      late.lookLater(
          lease.config(), Credentials.fromSecrets(driver.secrets()), lease.cluster().fsid());
      work.run();
    }
  }

  private static void late(Consumer<OpenFileSystem> work) {
    try (Lease lease = lease()) {
      work.accept(late(lease));
    }
  }

  private static JournalEntry entry(OpenFileSystem files, Volume volume) {
    UUID uuid = VolumeId.parse(volume.getVolumeId()).orElseThrow().uuid();
    return files.volumes().byUuid(uuid).orElseThrow();
  }

  @Test
  void aSubvolumeAndASnapshotOfDeletedNamesAreRemovedAndOthersStay() {
    Snapshot snapshot = driver.snapshot(name, source.getVolumeId());
    driver.deleteSnapshot(snapshot.getSnapshotId());
    Volume deleted = driver.create(name, 16 * MIB);
    driver.delete(deleted.getVolumeId());
    String others = "csi-vol-" + UUID.randomUUID();
    String othersSnapshot = "csi-snap-" + UUID.randomUUID();
    late(
        files -> {
          files.admin().create(subvolume(deleted), 16 * MIB, Optional.empty());
          files.admin().create(others, 16 * MIB, Optional.empty());
          files.admin().createSnapshot(subvolume(source), nameOf(snapshot));
          files.admin().createSnapshot(subvolume(source), othersSnapshot);
        });
    looking(
        Duration.ofMinutes(1),
        () ->
            Awaitility.await()
                .atMost(LIMIT)
                .untilAsserted(
                    () -> {
                      assertThat(STATE.subvolumes())
                          .containsExactlyInAnyOrder(subvolume(source), others);
                      assertThat(STATE.snapshots(subvolume(source)))
                          .containsExactly(othersSnapshot);
                    }));
    STATE.removeSnapshot(subvolume(source), othersSnapshot);
    STATE.removeSubvolume(others);
  }

  @Test
  void aCopyThatIsBegunAfterItsDeletionIsRemovedWithItsSnapshot() {
    Volume copy = driver.copy(name, 16 * MIB, source.getVolumeId());
    driver.delete(copy.getVolumeId());
    late(
        files -> {
          files.admin().createSnapshot(subvolume(source), subvolume(copy));
          files
              .admin()
              .clone(subvolume(source), subvolume(copy), subvolume(copy), Optional.empty());
        });
    looking(
        Duration.ofMinutes(1),
        () ->
            Awaitility.await()
                .atMost(LIMIT)
                .untilAsserted(
                    () -> {
                      assertThat(STATE.subvolumes()).containsExactly(subvolume(source));
                      assertThat(STATE.snapshots(subvolume(source))).isEmpty();
                    }));
  }

  @Test
  void whatHasAJournalEntryAndWhatIsKeptForItsSnapshotsStays() {
    Volume kept = driver.create(name, 16 * MIB);
    Snapshot snapshot = driver.snapshot(name, kept.getVolumeId());
    driver.delete(kept.getVolumeId());
    late(files -> files.deletedNames().whileVolumeGoes(entry(files, source), () -> {}));
    List<String> names = new ArrayList<>(STATE.omap(DELETED).keySet());
    assertThat(names).contains(subvolume(kept), subvolume(source));
    looking(
        Duration.ZERO,
        () ->
            Awaitility.await()
                .atMost(LIMIT)
                .untilAsserted(() -> assertThat(STATE.omap(DELETED)).isEmpty()));
    assertThat(STATE.subvolumes()).containsExactlyInAnyOrder(subvolume(kept), subvolume(source));
    Volume restored = driver.restore(name + "-restored", 16 * MIB, snapshot.getSnapshotId());
    driver.delete(restored.getVolumeId());
    driver.deleteSnapshot(snapshot.getSnapshotId());
  }

  @Test
  void namesOfASecondClusterIdOfTheSameClusterAreLookedAtToo() {
    try (RadosCluster connection = CLUSTER.connect();
        Lease lease = lease();
        SnapshotPaths paths = new SnapshotPaths();
        LateCommands late =
            new LateCommands(
                connections,
                "default",
                paths,
                new LateCommands.Times(SOON, SOON, Duration.ZERO, MOST));
        IoContext elsewhere =
            connection.openPool(
                late(lease).info().metadataPoolId(), "elsewhere-" + UUID.randomUUID())) {
      Volume deleted = driver.create(name, 16 * MIB);
      namesIn(elsewhere).whileVolumeGoes(entry(late(lease), deleted), () -> {});
      driver.delete(deleted.getVolumeId());
      ClusterConfig first = lease.config();
      ClusterConfig second =
          new ClusterConfig("second", first.monitors(), "", elsewhere.namespace(), "second");
      Credentials user = Credentials.fromSecrets(driver.secrets());
      late.lookLater(first, user, lease.cluster().fsid());
      late.lookLater(second, user, lease.cluster().fsid());
      Awaitility.await()
          .atMost(LIMIT)
          .untilAsserted(() -> assertThat(namesIn(elsewhere).all()).isEmpty());
      elsewhere.remove(DELETED);
    }
  }

  private static DeletedNames namesIn(IoContext io) {
    return new DeletedNames(io, "default", "second");
  }

  private static OpenFileSystem late(Lease lease) {
    return open(lease, command -> command.toManager(lease.cluster()).text());
  }

  @Test
  void aLookAtAnotherGroupOfTheJournalForgetsNoNames() {
    UUID uuid = UUID.randomUUID();
    UUID forgotten = UUID.randomUUID();
    String left = "csi.java.pin-" + uuid;
    String old = "csi.java.pin-" + forgotten;
    String group = "group-" + uuid;
    CLUSTER.ceph("fs", "subvolumegroup", "create", CLUSTER.fileSystem(), group);
    try (Lease other = lease("other", group)) {
      late(other).deletedNames().addTemporary(left, uuid, Instant.now().minusSeconds(1));
      late(other).admin().create(left, MIB, Optional.empty());
      late(other).deletedNames().addTemporary(old, forgotten, Instant.now().minus(MOST));
      Volume deleted = driver.create(name, 16 * MIB);
      driver.delete(deleted.getVolumeId());
      assertThat(STATE.omap(DELETED)).containsKeys(left, old, subvolume(deleted));
      looking(
          Duration.ZERO,
          () ->
              Awaitility.await()
                  .atMost(LIMIT)
                  .untilAsserted(() -> assertThat(STATE.omap(DELETED)).containsOnlyKeys(left)));
      looking(
          Duration.ZERO,
          () -> lease("other", group),
          () ->
              Awaitility.await()
                  .atMost(LIMIT)
                  .untilAsserted(() -> assertThat(STATE.omap(DELETED)).isEmpty()));
      assertThat(late(other).admin().info(left)).isEmpty();
    }
    CLUSTER.ceph("fs", "subvolumegroup", "rm", CLUSTER.fileSystem(), group);
  }

  @Test
  void aNameThatAnOlderDriverRecordedIsOfAnyGroup() {
    UUID uuid = UUID.randomUUID();
    String left = "csi.java.pin-" + uuid;
    late(files -> files.admin().create(left, MIB, Optional.empty()));
    STATE.setOmap(DELETED, left, "VOLUME " + uuid + " 1");
    looking(
        Duration.ZERO,
        () ->
            Awaitility.await()
                .atMost(LIMIT)
                .untilAsserted(() -> assertThat(STATE.omap(DELETED)).isEmpty()));
    assertThat(STATE.subvolumes()).containsExactly(subvolume(source));
  }

  @Test
  void keysThatNoDriverWroteRemoveNothing() {
    String others = "csi-vol-" + UUID.randomUUID();
    Volume deleted = driver.create(name, 16 * MIB);
    driver.delete(deleted.getVolumeId());
    late(files -> files.admin().create(others, 16 * MIB, Optional.empty()));
    STATE.setOmap(DELETED, others, "VOLUME " + UUID.randomUUID() + " 1");
    STATE.setOmap(DELETED, subvolume(source), "x");
    STATE.setOmap(DELETED, "../" + others, "SNAPSHOT " + others.substring(8) + " 1");
    looking(
        Duration.ZERO,
        () ->
            Awaitility.await()
                .atMost(LIMIT)
                .untilAsserted(
                    () -> assertThat(STATE.omap(DELETED)).doesNotContainKey(subvolume(deleted))));
    assertThat(STATE.subvolumes()).containsExactlyInAnyOrder(subvolume(source), others);
    STATE.removeSubvolume(others);
    STATE.removeObject(DELETED);
  }

  @Test
  void aSubvolumeThatIsUsedForAMomentStaysUntilThatIsOver() {
    UUID[] uuids = {UUID.randomUUID(), UUID.randomUUID()};
    String used = "csi.java.pin-" + uuids[0];
    String left = "csi.java.pin-" + uuids[1];
    Instant later = Instant.now().plus(MOST);
    late(
        files -> {
          files.deletedNames().addTemporary(used, uuids[0], later);
          files.deletedNames().addTemporary(left, uuids[1], Instant.now());
          files.admin().create(used, MIB, Optional.empty());
          files.admin().create(left, MIB, Optional.empty());
        });
    looking(
        Duration.ZERO,
        () ->
            Awaitility.await()
                .atMost(LIMIT)
                .untilAsserted(() -> assertThat(STATE.omap(DELETED)).doesNotContainKey(left)));
    assertThat(STATE.omap(DELETED)).containsKey(used);
    assertThat(STATE.subvolumes()).containsExactlyInAnyOrder(subvolume(source), used);
    STATE.removeSubvolume(used);
    STATE.removeOmap(DELETED, used);
  }
}
