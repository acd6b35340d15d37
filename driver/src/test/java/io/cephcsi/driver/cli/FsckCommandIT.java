package io.cephcsi.driver.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.testing.Commands;
import io.cephcsi.testing.LocalCluster;
import io.cephcsi.testing.TestCluster;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code ceph-csi fsck} on a namespace of its own. */
class FsckCommandIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final TestCluster CEPH = TestCluster.shared();

  private final String namespace = "fsck-" + UUID.randomUUID();
  @TempDir private Path folder;
  private RadosCluster cluster;
  private IoContext io;
  private Journal volumes;
  private JournalEntry volume;

  @BeforeEach
  void makeVolume() {
    CEPH.rbd("namespace", "create", CEPH.pool() + "/" + namespace);
    cluster = CEPH.connect();
    io = cluster.openPool(CEPH.pool(), namespace);
    volumes = new Journal(JournalKind.VOLUME, "default", io, io);
    volume = makeVolume("pvc-1");
  }

  private JournalEntry makeVolume(String name) {
    JournalEntry entry = volumes.reserve(name, uuid -> "csi-vol-" + uuid, Map.of());
    RbdPool pool = new RbdPool(io);
    pool.create(entry.name(), 8 << 20, ImageOptions.builder().build());
    volumes.setImageId(entry.uuid(), ImageId.find(pool, entry.name()).orElseThrow());
    return volumes.byUuid(entry.uuid()).orElseThrow();
  }

  @AfterEach
  void removeAll() {
    io.objects().forEach(io::remove);
    io.close();
    cluster.close();
    CEPH.rbd("namespace", "remove", CEPH.pool() + "/" + namespace);
  }

  private Program fsck(String... args) {
    List<String> all = new ArrayList<>(List.of("fsck", "--pool", CEPH.pool() + "/" + namespace));
    all.addAll(List.of("--settle", "10ms", "--conf", CEPH.conf().toString()));
    all.addAll(List.of(args));
    return Program.run(all.toArray(new String[0]));
  }

  private static Set<String> kinds(Program checked) throws Exception {
    Set<String> kinds = new TreeSet<>();
    JsonNode findings = JSON.readTree(checked.out()).get("findings");
    findings.forEach(
        finding -> kinds.add(finding.get("kind").asText() + " " + finding.get("object").asText()));
    return kinds;
  }

  private void removeKey(String object, String key) {
    try (WriteOperation write = new WriteOperation()) {
      io.operate(object, write.omapRemove(List.of(key)));
    }
  }

  @Test
  void nothingIsFoundInAWholePool() throws Exception {
    Program checked = fsck();
    assertThat(checked.exitCode()).as(checked.err() + checked.out()).isZero();
    assertThat(checked.out())
        .contains(CEPH.pool() + "/" + namespace + ": 1 volumes, 1 images", "0 problems");
    assertThat(checked.err()).isEmpty();
  }

  @Test
  void findingsAreSaidWithTheirMeaningAndTheCommand() throws Exception {
    io.remove("csi.volume." + volume.uuid());
    Program table = fsck();
    assertThat(table.exitCode()).isEqualTo(3);
    assertThat(table.out())
        .contains(
            "NAME_WITHOUT_ENTRY (1)",
            "IMAGE_WITHOUT_ENTRY (1)",
            "no journal entry has an image",
            "$ rbd trash mv " + CEPH.pool() + "/" + namespace + "/" + volume.name(),
            "2 problems");
    Path metrics = folder.resolve("fsck.prom");
    Program json = fsck("-o", "json", "--metrics-file", metrics.toString());
    assertThat(kinds(json))
        .containsExactly("IMAGE_WITHOUT_ENTRY " + volume.name(), "NAME_WITHOUT_ENTRY volume pvc-1");
    assertThat(Files.readString(metrics))
        .contains(
            "ceph_csi_fsck_findings{kind=\"image_without_entry\"} 1\n",
            "ceph_csi_fsck_findings{kind=\"image_gone\"} 0\n",
            "ceph_csi_fsck_finished_seconds ");
    try (var files = Files.list(folder)) {
      assertThat(files).hasSize(1);
    }
  }

  @Test
  void whatIsProvenIsMendedAndReported() throws Exception {
    removeKey("csi.volumes.default", "csi.volume.pvc-1");
    io.remove("rbd_id." + volume.name());
    Path report = folder.resolve("report");
    Program only =
        fsck("--repair", "--yes", "--only", "NAME_OBJECT_WRONG", "--report", report.toString());
    assertThat(only.exitCode()).as(only.out() + only.err()).isEqualTo(3);
    assertThat(only.out()).contains("MENDED: made the name lead to image id", "1 mended");
    assertThat(Files.readString(report).lines().map(line -> line.split("\t", -1)[1]))
        .containsExactly("begin", "end");
    Program rest = fsck("--repair", "--yes");
    assertThat(rest.exitCode()).as(rest.out() + rest.err()).isZero();
    assertThat(rest.out()).contains("MENDED: set the name pvc-1");
    assertThat(fsck().out()).contains("0 problems");
    assertThat(volumes.byName("pvc-1")).contains(volume);
  }

  @Test
  void whatIsYoungIsNeitherReportedNorRemoved() throws Exception {
    JournalEntry half = volumes.reserve("pvc-2", uuid -> "csi-vol-" + uuid, Map.of());
    assertThat(fsck().exitCode()).isZero();
    Program checked = fsck("--min-age", "0", "-o", "json");
    assertThat(kinds(checked)).containsExactly("CREATION_UNFINISHED csi.volume." + half.uuid());
    Program repaired = fsck("--min-age", "0", "--repair", "--yes");
    assertThat(repaired.exitCode()).isEqualTo(3);
    assertThat(volumes.byUuid(half.uuid())).isPresent();
  }

  @Test
  void textsOfOthersAreEscapedAndTheCommandLeftOut() throws Exception {
    String hostile = "pvc-\u001b]0;owned\u0007$(reboot)";
    try (WriteOperation write = new WriteOperation()) {
      io.operate(
          "csi.volumes.default",
          write.omapSet("csi.volume." + hostile, "\u001b[2J".getBytes(UTF_8)));
    }
    String image = "csi-vol-" + UUID.randomUUID();
    io.writeFull("rbd_id." + image + "\n; reboot", new byte[] {3, 0, 0, 0, 'f', 'f', 'f'});
    Program checked = fsck();
    assertThat(checked.exitCode()).isEqualTo(3);
    assertThat(checked.out().lines())
        .allMatch(line -> line.chars().noneMatch(Character::isISOControl))
        .noneMatch(line -> line.contains("$ ") && line.contains("reboot"));
    assertThat(checked.out()).contains("NAME_DAMAGED", "owned", "NAME_WITHOUT_HEADER");
  }

  @Test
  void whatKubernetesKnowsIsCompared() throws Exception {
    JournalEntry other = makeVolume("pvc-2");
    String lost = new VolumeId("x", io.poolId(), UUID.randomUUID()).toString();
    String known = new VolumeId("x", io.poolId(), volume.uuid()).toString();
    Path file =
        Files.writeString(
            folder.resolve("pv.json"),
            """
            {"items": [
              {"kind": "PersistentVolume", "spec": {"csi": {"volumeHandle": "%s"}}},
              {"kind": "PersistentVolume", "spec": {"csi": {"volumeHandle": "%s"}}},
              {"kind": "PersistentVolume", "spec": {"hostPath": {"path": "/"}}}]}
            """
                .formatted(known, lost));
    assertThat(kinds(fsck("--min-age", "0", "-o", "json", "--expect", file.toString())))
        .containsExactly("ENTRY_WITHOUT_PV csi.volume." + other.uuid(), "PV_WITHOUT_ENTRY " + lost);
    assertThat(kinds(fsck("-o", "json", "--expect", file.toString())))
        .containsExactly("PV_WITHOUT_ENTRY " + lost);
    Files.writeString(file, "{}");
    assertThat(fsck("--expect", file.toString()).exitCode()).isEqualTo(2);
  }

  /** A snapshot that Kubernetes has deleted may have to stay for shallow volumes. */
  @Test
  void snapshotsThatKubernetesKnowsAreComparedToo() throws Exception {
    Journal snapshots = new Journal(JournalKind.SNAPSHOT, "default", io, io);
    List<JournalEntry> entries = new ArrayList<>();
    for (String name : List.of("known", "imported", "unknown", "deleted")) {
      entries.add(snapshots.reserve(name, uuid -> "csi-snap-" + uuid, Map.of()));
    }
    snapshots.markDeleted(entries.get(3).uuid());
    String lost = new VolumeId("x", io.poolId(), UUID.randomUUID()).toString();
    List<String> handles =
        entries.stream()
            .map(entry -> new VolumeId("x", io.poolId(), entry.uuid()).toString())
            .toList();
    Path file =
        Files.writeString(
            folder.resolve("pv.json"),
            """
            {"items": [
              {"kind": "PersistentVolume", "spec": {"csi": {"volumeHandle": "%s"}}},
              {"kind": "VolumeSnapshotContent", "spec": {"driver": "rbd.csi.ceph.com"},
               "status": {"snapshotHandle": "%s"}},
              {"kind": "VolumeSnapshotContent", "spec": {"source": {"snapshotHandle": "%s"}}},
              {"kind": "VolumeSnapshotContent", "status": {"snapshotHandle": "%s"}}]}
            """
                .formatted(
                    new VolumeId("x", io.poolId(), volume.uuid()),
                    handles.get(0),
                    handles.get(1),
                    lost));
    Set<String> kinds = kinds(fsck("--min-age", "0", "-o", "json", "--expect", file.toString()));
    kinds.removeIf(kind -> kind.startsWith("CREATION_UNFINISHED"));
    assertThat(kinds)
        .containsExactly(
            "ENTRY_WITHOUT_PV csi.snap." + entries.get(2).uuid(), "PV_WITHOUT_ENTRY " + lost);
  }

  @Test
  void aUserThatMayOnlyReadFindsTheSame() throws Exception {
    io.remove("rbd_id." + volume.name());
    removeKey("csi.volumes.default", "csi.volume.pvc-1");
    RbdPool pool = new RbdPool(io);
    makeVolume("pvc-2");
    pool.moveToTrash(makeVolume("pvc-3").name(), Duration.ZERO);
    Set<String> all = kinds(fsck("-o", "json"));
    assertThat(all).hasSize(3);
    Path keyring = folder.resolve("keyring");
    String user = "client.reads-" + UUID.randomUUID();
    String caps = "profile rbd-read-only";
    CEPH.ceph("auth", "get-or-create", user, "mon", caps, "osd", caps, "-o", keyring.toString());
    try {
      String[] reader = {
        "--user", user.substring(7), "--keyring", keyring.toString(), "-o", "json"
      };
      Program checked = fsck(reader);
      assertThat(kinds(checked)).as(checked.err()).isEqualTo(all);
      List<String> repair = new ArrayList<>(List.of(reader));
      repair.addAll(List.of("--repair", "--yes"));
      Program repaired = fsck(repair.toArray(new String[0]));
      assertThat(repaired.exitCode()).isEqualTo(3);
      assertThat(repaired.err()).contains("EPERM");
      assertThat(kinds(fsck("-o", "json"))).isEqualTo(all);
    } finally {
      CEPH.ceph("auth", "rm", user);
    }
  }

  @Test
  void aRepairAsksBeforeEach() throws Exception {
    io.remove("rbd_id." + volume.name());
    removeKey("csi.volumes.default", "csi.volume.pvc-1");
    Path answers = Files.writeString(folder.resolve("answers"), "n\ny\n");
    Path out = folder.resolve("out");
    Process process =
        new ProcessBuilder(
                LocalCluster.root().resolve("driver/target/ceph-csi/bin/ceph-csi").toString(),
                "fsck",
                "--pool=" + CEPH.pool() + "/" + namespace,
                "--conf=" + CEPH.conf(),
                "--settle=0",
                "--repair")
            .redirectInput(answers.toFile())
            .redirectErrorStream(true)
            .redirectOutput(out.toFile())
            .start();
    assertThat(process.waitFor(1, TimeUnit.MINUTES)).isTrue();
    assertThat(process.exitValue()).as(Files.readString(out)).isEqualTo(3);
    assertThat(Files.readString(out).split("Mend it\\?", -1)).hasSize(3);
    assertThat(kinds(fsck("-o", "json")))
        .containsExactly("ENTRY_WITHOUT_NAME csi.volume." + volume.uuid());
  }

  /** A pool and a file system may have the same id, and a pool has several namespaces. */
  @Test
  void whatKubernetesKnowsIsFoundWhereverItIs() throws Exception {
    String handle = new VolumeId("x", io.poolId(), volume.uuid()).toString();
    String shared = new VolumeId("x", io.poolId(), UUID.randomUUID()).toString();
    Path file =
        Files.writeString(
            folder.resolve("pv.json"),
            """
            {"items": [
              {"kind": "PersistentVolume", "spec": {"csi": {"volumeHandle": "%s"}}},
              {"kind": "PersistentVolume", "spec": {"csi": {"volumeHandle": "%s",
                "driver": "cephfs.csi.ceph.com", "volumeAttributes": {"fsName": "other"}}}}]}
            """
                .formatted(handle, shared));
    String empty = "empty-" + UUID.randomUUID();
    CEPH.rbd("namespace", "create", CEPH.pool() + "/" + empty);
    try {
      Program checked =
          fsck("--pool", CEPH.pool() + "/" + empty, "-o", "json", "--expect", file.toString());
      assertThat(kinds(checked)).isEmpty();
    } finally {
      CEPH.rbd("namespace", "remove", CEPH.pool() + "/" + empty);
    }
  }

  @Test
  void allClustersAreCheckedAndOneThatCannotBeIsNamed() throws Exception {
    io.remove("csi.volume." + volume.uuid());
    Path clusters =
        Files.writeString(
            folder.resolve("config.json"),
            """
            [{"clusterID": "a", "monitors": ["%1$s"]},
             {"clusterID": "b", "monitors": ["%1$s"]},
             {"clusterID": "c", "monitors": ["127.0.0.1:1"]}]
            """
                .formatted(CEPH.monitors()));
    for (String id : List.of("a", "b")) {
      Path credentials = Files.createDirectories(folder.resolve("credentials/" + id));
      Files.writeString(credentials.resolve("userID"), CEPH.rbdUser());
      Files.writeString(credentials.resolve("userKey"), CEPH.key(CEPH.rbdUser()));
    }
    String[] command = {
      "fsck",
      "--all-clusters",
      "--clusters-file",
      clusters.toString(),
      "--credentials-file",
      folder.resolve("credentials").toString(),
      "--pool",
      CEPH.pool() + "/" + namespace,
      "--settle",
      "10ms",
      "-o",
      "json"
    };
    Path metrics = Files.writeString(folder.resolve("fsck.prom"), "of before");
    List<String> withMetrics = new ArrayList<>(List.of(command));
    withMetrics.addAll(List.of("--metrics-file", metrics.toString()));
    Program checked = Program.run(withMetrics.toArray(new String[0]));
    assertThat(checked.exitCode()).as(checked.err() + checked.out()).isEqualTo(1);
    assertThat(metrics).hasContent("of before"); // not of some clusters as of all
    assertThat(kinds(checked))
        .containsExactly("IMAGE_WITHOUT_ENTRY " + volume.name(), "NAME_WITHOUT_ENTRY volume pvc-1");
    JsonNode answer = JSON.readTree(checked.out());
    assertThat(answer.get("findings").get(0).get("cluster").asText()).isEqualTo("a, b");
    assertThat(answer.get("leftOut").get("c: the cluster").asText())
        .contains("has no folder for the cluster c");
    assertThat(Program.run("fsck", "--all-clusters", "--cluster", "a").exitCode()).isEqualTo(2);

    Files.writeString(
        clusters, "[{\"clusterID\": \"a\", \"monitors\": [\"" + CEPH.monitors() + "\"]}]");
    assertThat(Program.run(withMetrics.toArray(new String[0])).exitCode()).isEqualTo(3);
    assertThat(Files.readString(metrics))
        .contains("{kind=\"image_without_entry\"} 1\n", "ceph_csi_fsck_left_out 0\n");
  }

  @Test
  void metricsThatCannotBeWrittenAreRefusedBeforeTheWork() {
    Path fifo = folder.resolve("fifo");
    Commands.run(List.of("mkfifo", fifo.toString()));
    for (Path file : List.of(fifo, folder, folder.resolve("missing/fsck.prom"))) {
      Program refused = fsck("--metrics-file", file.toString());
      assertThat(refused.exitCode()).isEqualTo(2);
      assertThat(refused.out()).isEmpty();
      assertThat(refused.err()).contains(file.toString());
    }
    assertThat(Files.isRegularFile(fifo)).isFalse();
  }

  @Test
  void wrongOptionsAreRefused() {
    assertThat(fsck("--concurrency", "0").exitCode()).isEqualTo(2);
    assertThat(fsck("--yes").exitCode()).isEqualTo(2);
    assertThat(fsck("--repair", "--only", "IMAGE_GONE").err()).contains("by hand only");
    assertThat(fsck("--repair", "--older-than", "1s").err()).contains("at least 1m");
    assertThat(fsck("--settle", "soon").exitCode()).isEqualTo(2);
    assertThat(Program.run("fsck", "--conf", CEPH.conf().toString(), "--pool", "none").exitCode())
        .isEqualTo(1);
  }
}
