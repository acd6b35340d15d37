package io.cephcsi.driver.fsck.check;

import static io.cephcsi.driver.fsck.check.CheckedFileSystem.MIB;
import static io.cephcsi.driver.fsck.check.CheckedFileSystem.VOLUMES;
import static io.cephcsi.driver.fsck.check.CheckedFileSystem.uuid;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.cephfs.CephFsFile;
import io.cephcsi.bindings.cephfs.CephFsMount;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.fsck.Finding;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.LocalCluster;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A check of a file system names each damage, and nothing else. */
class FileSystemDamageIT {
  private static final boolean FULL = "full".equals(System.getenv("CEPH_CSI_TEST_CAMPAIGN"));

  @TempDir private Path folder;

  private static CheckedFileSystem cluster;
  private static LocalCluster ceph;
  private static TestDriver driver;
  private static IoContext io;
  private static Volume volume;
  private static Snapshot snapshot;
  private static Volume shallow;

  @BeforeAll
  static void fill() {
    cluster = new CheckedFileSystem("fsck-fs");
    ceph = cluster.ceph();
    driver = cluster.driver();
    io = cluster.io();
    volume = driver.create("fs-1", 8 * MIB);
    Volume source = driver.create("fs-2", 8 * MIB);
    snapshot = driver.snapshot("fs-snap", source.getVolumeId());
    shallow = driver.show("fs-shallow", snapshot.getSnapshotId());
    Awaitility.await() // the call is repeated until the copy is complete
        .atMost(Duration.ofMinutes(1))
        .ignoreExceptionsInstanceOf(StatusRuntimeException.class)
        .until(
            () ->
                !driver
                    .restore("fs-restored", 8 * MIB, snapshot.getSnapshotId())
                    .getVolumeId()
                    .isEmpty());
    Volume deleted = driver.create("fs-3", 8 * MIB);
    driver.snapshot("fs-retaining", deleted.getVolumeId());
    driver.delete(deleted.getVolumeId());
    assertFound();
  }

  @AfterAll
  static void end() {
    cluster.close();
  }

  private static void assertFound(String... expected) {
    Set<String> wanted = new TreeSet<>(List.of(expected));
    Awaitility.await() // the manager ends clones and removals
        .atMost(Duration.ofSeconds(30))
        .untilAsserted(() -> assertThat(CheckedCluster.shown(cluster.check())).isEqualTo(wanted));
  }

  private static String entry() {
    return "csi.volume." + uuid(volume.getVolumeId());
  }

  private static String subvolume(Volume of) {
    return "csi-vol-" + uuid(of.getVolumeId());
  }

  /** Damages, checks, and puts back. */
  private static void damaged(String object, Runnable damage, String... expected) {
    SavedObject saved = SavedObject.of(io, object);
    damage.run();
    assertFound(expected);
    saved.restore(io);
    assertFound();
  }

  @Test
  void damagesOfTheJournalAreFound() {
    String snapshotUuid = uuid(snapshot.getSnapshotId()).toString();
    damaged(
        VOLUMES,
        () -> cluster.set(VOLUMES, "csi.volume.fs-1", UUID.randomUUID().toString()),
        "ENTRY_WITHOUT_NAME " + entry(),
        "NAME_WITHOUT_ENTRY volume fs-1");
    damaged(
        entry(),
        () -> io.remove(entry()),
        "NAME_WITHOUT_ENTRY volume fs-1",
        "SUBVOLUME_WITHOUT_ENTRY " + subvolume(volume));
    damaged(
        entry(),
        () -> cluster.set(entry(), "csi.imagename", "../../volumes"),
        "ENTRY_DAMAGED " + entry());
    damaged(
        entry(),
        () -> cluster.set(entry(), "csi.java.deleting", "2026-01-01T00:00:00Z 1"),
        "DELETION_UNFINISHED " + entry());
    damaged(
        "csi.snap." + snapshotUuid,
        () -> io.remove("csi.snap." + snapshotUuid),
        "NAME_WITHOUT_ENTRY snapshot fs-snap",
        "SUBVOLUME_SNAPSHOT_WITHOUT_ENTRY csi-vol-"
            + uuid(snapshot.getSourceVolumeId())
            + "@csi-snap-"
            + snapshotUuid,
        "TRACKER_WRONG " + snapshot.getSnapshotId());
  }

  @Test
  void damagesOfTrackersAreFound() {
    String tracker = "rt-backingsnapshot-" + snapshot.getSnapshotId();
    String wrong = "TRACKER_WRONG " + snapshot.getSnapshotId();
    damaged(tracker, () -> io.remove(tracker), wrong);
    damaged(tracker, () -> io.writeFull(tracker, new byte[] {0, 0, 0, 9}), wrong);
    damaged(tracker, () -> cluster.set(tracker, "csi-vol-" + UUID.randomUUID(), "\u0001"), wrong);
    damaged(
        "csi.volume." + uuid(shallow.getVolumeId()),
        () -> io.remove("csi.volume." + uuid(shallow.getVolumeId())),
        wrong,
        "NAME_WITHOUT_ENTRY volume fs-shallow");
  }

  @Test
  void missingReferencesAndNamesAreMended() {
    String tracker = "rt-backingsnapshot-" + snapshot.getSnapshotId();
    SavedObject right = SavedObject.of(io, tracker);
    io.remove(tracker);
    cluster.set(VOLUMES, "csi.volume.fs-1", "");
    cluster.set(VOLUMES, "csi.volume.fs-nothing", UUID.randomUUID().toString());
    assertFound(
        "ENTRY_WITHOUT_NAME " + entry(),
        "NAME_WITHOUT_ENTRY volume fs-nothing",
        "TRACKER_WRONG " + snapshot.getSnapshotId());
    assertThat(cluster.repair()).hasSize(3);
    assertFound();
    SavedObject mended = SavedObject.of(io, tracker);
    assertThat(mended.content().orElseThrow().omap().keySet())
        .isEqualTo(right.content().orElseThrow().omap().keySet());
    assertThat(mended.content().orElseThrow().data())
        .isEqualTo(right.content().orElseThrow().data());
    assertThat(driver.create("fs-1", 8 * MIB).getVolumeId()).isEqualTo(volume.getVolumeId());
  }

  /** Without its own reference the snapshot would go with the last volume that shows it. */
  @Test
  void theOwnReferenceOfASnapshotThatAnotherInstanceMadeIsMended() {
    String id = snapshot.getSnapshotId();
    String tracker = "rt-backingsnapshot-" + id;
    String second = "csi.snaps.second";
    SavedObject names = SavedObject.of(io, CheckedFileSystem.SNAPSHOTS);
    SavedObject right = SavedObject.of(io, tracker);
    cluster.set(CheckedFileSystem.SNAPSHOTS, "csi.snap.fs-snap", "");
    cluster.set(second, "csi.snap.fs-snap", uuid(id).toString());
    try {
      assertFound();
      cluster.set(tracker, id, "");
      io.writeFull(tracker, new byte[] {0, 0, 0, 1});
      assertFound("TRACKER_WRONG " + id);
      assertThat(cluster.repair()).containsExactly("added the references " + id);
      assertFound();
      assertThat(SavedObject.of(io, tracker).content().orElseThrow().omap().keySet())
          .isEqualTo(right.content().orElseThrow().omap().keySet());
    } finally {
      io.remove(second);
      names.restore(io);
      right.restore(io);
    }
  }

  @Test
  void damagesOfSubvolumesAreFound() {
    String orphan = "csi-vol-" + UUID.randomUUID();
    ceph.ceph("fs", "subvolume", "create", cluster.name(), orphan, "--group_name", "csi");
    assertFound("SUBVOLUME_WITHOUT_ENTRY " + orphan);
    ceph.ceph("fs", "subvolume", "rm", cluster.name(), orphan, "--group_name", "csi");
    Volume lost = driver.create("fs-lost", 8 * MIB);
    ceph.ceph("fs", "subvolume", "rm", cluster.name(), subvolume(lost), "--group_name", "csi");
    assertFound("SUBVOLUME_GONE csi.volume." + uuid(lost.getVolumeId()));
    driver.delete(lost.getVolumeId());
    CephFsMount mount = cluster.mount();
    String path = cluster.path(uuid(volume.getVolumeId()));
    mount.setQuotaBytes(path, 0);
    assertFound("QUOTA_MISSING " + entry());
    mount.setQuotaBytes(path, 8 * MIB);
    assertFound();
    cluster.expect(Map.of(uuid(volume.getVolumeId()), 8 * MIB));
    assertFound();
    cluster.expect(Map.of(uuid(volume.getVolumeId()), 9 * MIB));
    try {
      assertFound("QUOTA_SMALLER " + entry());
    } finally {
      cluster.expect(Map.of());
    }
  }

  /** The manager records the state of a copy in a file beside the data. */
  @Test
  void copiesInProgressAndRetainedSubvolumesThatNobodyNeedsAreFound() {
    String orphan = "csi-vol-" + UUID.randomUUID();
    ceph.ceph("fs", "subvolume", "create", cluster.name(), orphan, "--group_name", "csi");
    String meta = "/volumes/csi/" + orphan + "/.meta";
    CephFsMount mount = cluster.mount();
    byte[] complete = read(mount, meta);
    write(mount, meta, new String(complete, UTF_8).replace("= complete", "= in-progress"));
    List<Finding> found = cluster.check();
    assertThat(CheckedCluster.shown(found)).containsExactly("SUBVOLUME_WITHOUT_ENTRY " + orphan);
    assertThat(found.get(0).detail()).contains("a copy whose state is in-progress");
    assertThat(found.get(0).command()).startsWith("ceph fs clone cancel");
    write(mount, meta, new String(complete, UTF_8).replace("= complete", "= snapshot-retained"));
    assertThat(CheckedCluster.shown(cluster.check()))
        .containsExactly("RETAINED_WITHOUT_SNAPSHOT " + orphan);
    write(mount, meta, new String(complete, UTF_8));
    ceph.ceph("fs", "subvolume", "rm", cluster.name(), orphan, "--group_name", "csi");
    assertFound();
  }

  private static byte[] read(CephFsMount mount, String path) {
    try (CephFsFile file = mount.openFile(path)) {
      return file.read(0, 16_384);
    }
  }

  private static void write(CephFsMount mount, String path, String text) {
    mount.removeFile(path);
    try (CephFsFile file = mount.createFile(path, 0644)) {
      file.write(0, text.getBytes(UTF_8));
    }
    mount.sync();
  }

  /** Nobody would come back to it: the volume that was the last to show it is forgotten. */
  @Test
  void aDeletedSnapshotThatNoVolumeShowsIsFound() {
    Volume source = driver.create("fs-shown", 8 * MIB);
    String taken = driver.snapshot("fs-shown-s", source.getVolumeId()).getSnapshotId();
    Volume shown = driver.show("fs-shown-v", taken);
    driver.deleteSnapshot(taken);
    assertFound(); // the volume keeps it
    io.remove("csi.volume." + uuid(shown.getVolumeId()));
    io.remove("rt-backingsnapshot-" + taken);
    cluster.set(VOLUMES, "csi.volume.fs-shown-v", "");
    assertFound("DELETION_UNFINISHED csi.snap." + uuid(taken));
    driver.deleteSnapshot(taken);
    driver.delete(source.getVolumeId());
    assertFound();
  }

  @Test
  void theCommandChecksMendsAndComparesAFileSystem() throws Exception {
    cluster.set(VOLUMES, "csi.volume.fs-1", "");
    assertThat(run()).isEqualTo(3);
    assertThat(printed()).contains("ENTRY_WITHOUT_NAME", entry());
    assertThat(run("--repair", "--yes")).as(printed()).isZero();
    assertThat(printed()).contains("set the name fs-1");
    Path known =
        Files.writeString(
            folder.resolve("pv.json"),
            """
            {"items": [{"kind": "PersistentVolume", "spec": {"capacity": {"storage": "9Mi"},
              "csi": {"driver": "cephfs.csi.ceph.com", "volumeHandle": "%s"}}}]}
            """
                .formatted(volume.getVolumeId()));
    assertThat(run("--expect=" + known)).isEqualTo(3);
    assertThat(printed())
        .contains("QUOTA_SMALLER", "ENTRY_WITHOUT_PV", "csi.snap." + uuid(snapshot.getSnapshotId()))
        .doesNotContain("\nPV_WITHOUT_ENTRY");
    assertFound();
  }

  private int run(String... options) throws Exception {
    List<String> command =
        new ArrayList<>(
            List.of(
                LocalCluster.root().resolve("driver/target/ceph-csi/bin/ceph-csi").toString(),
                "fsck",
                "--conf=" + ceph.conf(),
                "--file-system=" + cluster.name(),
                "--settle=0",
                "--min-age=0"));
    command.addAll(List.of(options));
    Process process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("printed").toFile())
            .start();
    assertThat(process.waitFor(1, TimeUnit.MINUTES)).isTrue();
    return process.exitValue();
  }

  private String printed() throws IOException {
    return Files.readString(folder.resolve("printed"));
  }

  /** ceph-csi keeps the entry of a snapshot that is shown, and masks its reference. */
  @Test
  void aSnapshotThatAUserDeletedIsNotMissedInKubernetes() throws Exception {
    String tracker = "rt-backingsnapshot-" + snapshot.getSnapshotId();
    SavedObject right = SavedObject.of(io, tracker);
    cluster.set(tracker, snapshot.getSnapshotId(), new byte[] {2});
    Path known = Files.writeString(folder.resolve("pv.json"), "{\"items\": []}");
    try {
      assertThat(run("--expect=" + known)).isEqualTo(3);
      assertThat(printed())
          .contains("ENTRY_WITHOUT_PV", entry())
          .doesNotContain("csi.snap." + uuid(snapshot.getSnapshotId()));
    } finally {
      right.restore(io);
    }
    assertThat(run("--expect=" + known)).isEqualTo(3);
    assertThat(printed()).contains("csi.snap." + uuid(snapshot.getSnapshotId()));
  }

  /** Each repair is one write. */
  @Test
  void aSecondRunEndsWhatAKilledOneBegan() throws Exception {
    Path out = folder.resolve("out");
    String tracker = "rt-backingsnapshot-" + snapshot.getSnapshotId();
    for (String moment : FULL ? List.of("before", "after") : List.of("after")) {
      boolean halted = true;
      int write = 0;
      while (halted) {
        write++;
        io.remove(tracker);
        cluster.set(VOLUMES, "csi.volume.fs-1", "");
        cluster.set(VOLUMES, "csi.volume.fs-nothing", UUID.randomUUID().toString());
        halted = RepairProgram.isHalted(ceph, "cephfs", moment + "," + write + ",main", out);
        assertThat(RepairProgram.isHalted(ceph, "cephfs", "", out)).isFalse();
        assertFound();
      }
      assertThat(write).as("writes %s which it was killed", moment).isGreaterThan(3);
    }
    assertThat(driver.create("fs-1", 8 * MIB).getVolumeId()).isEqualTo(volume.getVolumeId());
  }

  @Test
  void nothingIsFoundWhileClientsCreateAndDelete() throws Exception {
    AtomicBoolean stop = new AtomicBoolean();
    AtomicInteger made = new AtomicInteger();
    ExecutorService clients = Executors.newFixedThreadPool(8);
    try {
      List<Future<?>> running = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        int client = i;
        running.add(clients.submit(() -> createAndDelete(client, stop, made)));
      }
      List<Finding> found = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        found.addAll(cluster.check(Duration.ofSeconds(3), Duration.ofMinutes(10)));
      }
      stop.set(true);
      for (Future<?> client : running) {
        client.get();
      }
      assertThat(made).hasValueGreaterThan(8);
      assertThat(found).isEmpty();
    } finally {
      stop.set(true);
      clients.shutdown();
    }
  }

  private static void createAndDelete(int client, AtomicBoolean stop, AtomicInteger made) {
    for (int i = 0; !stop.get(); i++) {
      String name = "busy-" + client + "-" + i;
      String id = driver.create(name, MIB).getVolumeId();
      String taken = driver.snapshot(name + "-s", id).getSnapshotId();
      String shown = driver.show(name + "-v", taken).getVolumeId();
      driver.deleteSnapshot(taken);
      driver.delete(shown);
      driver.delete(id);
      made.addAndGet(3);
    }
  }
}
