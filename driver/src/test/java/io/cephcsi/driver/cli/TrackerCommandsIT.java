package io.cephcsi.driver.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.cluster.FileSystemInfo;
import io.cephcsi.driver.cluster.MonitorQueries;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.testing.RawObject;
import io.cephcsi.driver.testing.RawObjects;
import io.cephcsi.driver.tracker.ReferenceTracker;
import io.cephcsi.driver.tracker.Trackers;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.testing.TestCluster;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** {@code ceph-csi tracker} on a subvolume with a snapshot and shallow volumes of it. */
class TrackerCommandsIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final TestCluster CEPH = TestCluster.shared();
  private static final String GROUP = "csi";

  private final String namespace = "tracker-cli-" + UUID.randomUUID();
  private final String subvolume = "csi-vol-" + UUID.randomUUID();
  private RadosCluster cluster;
  private FileSystemInfo fileSystem;
  private IoContext io;
  private Journal snapshots;
  private Journal volumes;
  private ReferenceTracker trackers;
  private JournalEntry snapshot;
  private String snapshotId;

  @BeforeEach
  void makeSnapshot() {
    cluster = CEPH.connect();
    fileSystem = MonitorQueries.fileSystems(cluster).get(0);
    io = cluster.openPool(fileSystem.metadataPoolId(), namespace);
    snapshots = new Journal(JournalKind.SNAPSHOT, "default", io, io);
    volumes = new Journal(JournalKind.VOLUME, "default", io, io);
    trackers = new Trackers().in(io);
    snapshot =
        snapshots.reserve("fsnap-1", uuid -> "csi-snap-" + uuid, Map.of("csi.source", subvolume));
    snapshotId = id(snapshot.uuid());
    fs("subvolume", "create", fileSystem.name(), subvolume, "--group_name", GROUP);
    fs(
        "subvolume",
        "snapshot",
        "create",
        fileSystem.name(),
        subvolume,
        snapshot.name(),
        "--group_name",
        GROUP);
  }

  @AfterEach
  void removeSnapshot() {
    removeBackingSnapshot();
    fs("subvolume", "rm", fileSystem.name(), subvolume, "--group_name", GROUP);
    io.objects().forEach(io::remove);
    io.close();
    cluster.close();
  }

  private void removeBackingSnapshot() {
    fs(
        "subvolume",
        "snapshot",
        "rm",
        fileSystem.name(),
        subvolume,
        snapshot.name(),
        "--group_name",
        GROUP,
        "--force");
  }

  private static void fs(String... args) {
    List<String> command = new ArrayList<>(List.of("fs"));
    command.addAll(List.of(args));
    CEPH.ceph(command.toArray(new String[0]));
  }

  private String id(UUID uuid) {
    return new VolumeId("bar", fileSystem.id(), uuid).toString();
  }

  private JournalEntry shallow(String requestName, String of) {
    return volumes.reserve(
        requestName, uuid -> "csi-vol-" + uuid, Map.of("csi.volume.backingsnapshotid", of));
  }

  private JournalEntry referring(String requestName) {
    JournalEntry volume = shallow(requestName, snapshotId);
    trackers.add(snapshotId, List.of(snapshotId, volume.name()));
    return volume;
  }

  private Program tracker(String... args) {
    List<String> all = new ArrayList<>(List.of("tracker"));
    all.addAll(List.of(args));
    all.addAll(List.of("--conf", CEPH.conf().toString(), "--rados-namespace", namespace));
    return Program.run(all.toArray(new String[0]));
  }

  private void assertProblems(String... problems) throws Exception {
    Program verified = tracker("verify", "-o", "json");
    assertThat(verified.err()).isEmpty();
    List<String> found = new ArrayList<>();
    JsonNode reports = JSON.readTree(verified.out()).get("trackers");
    reports.forEach(report -> report.get("problems").forEach(each -> found.add(each.asText())));
    assertThat(found).containsExactlyInAnyOrder(problems);
    assertThat(verified.exitCode()).isEqualTo(problems.length == 0 ? 0 : 3);
  }

  @Test
  void aTrackerIsShown() throws Exception {
    JournalEntry volume = referring("shallow-1");
    trackers.mask(snapshotId, snapshotId);
    Program shown = tracker("show", snapshotId);
    assertThat(shown.exitCode()).as(shown.err()).isZero();
    assertThat(shown.out().lines())
        .containsExactly(
            snapshotId + "  references: 1",
            "  mask    " + snapshotId,
            "  normal  " + volume.name());
    JsonNode json = JSON.readTree(tracker("show", snapshotId, "-o", "json").out());
    JsonNode node = json.get("trackers").get(0);
    assertThat(node.get("snapshotId").asText()).isEqualTo(snapshotId);
    assertThat(node.get("count").asInt()).isEqualTo(1);
    assertThat(node.get("references").get(volume.name()).asText()).isEqualTo("normal");
    assertThat(node.get("references").get(snapshotId).asText()).isEqualTo("mask");
  }

  @Test
  void aMissingTrackerAndWrongArgumentsAreSaid() {
    Program missing = tracker("show", snapshotId);
    assertThat(missing.exitCode()).isEqualTo(1);
    assertThat(missing.err()).contains("has no tracker");
    assertThat(tracker("show", "nonsense").exitCode()).isEqualTo(2);
    assertThat(tracker("show", new VolumeId("bar", 4711, UUID.randomUUID()).toString()).err())
        .contains("no file system fits", fileSystem.name());
    assertThat(tracker("verify", "--file-system", "none").exitCode()).isEqualTo(2);
    assertThat(Program.run("tracker").exitCode()).isEqualTo(2);
    assertThat(Program.run("tracker", "verify", "--help").out())
        .contains("Exit codes", "3", "problems were found", "--file-system");
  }

  @Test
  void aDamagedTrackerIsAnError() {
    String object = "rt-backingsnapshot-" + snapshotId;
    new RawObjects(CEPH, io).put(object, new RawObject(Map.of(), new byte[4], Map.of()));
    Program shown = tracker("show", snapshotId);
    assertThat(shown.exitCode()).isEqualTo(1);
    assertThat(shown.err()).contains(object, "no valid csi.ceph.com/rt-version");
    Program verified = tracker("verify");
    assertThat(verified.exitCode()).isEqualTo(3);
    assertThat(verified.out()).contains("PROBLEM", "no valid csi.ceph.com/rt-version");
  }

  @Test
  void aConsistentTrackerHasNoProblems() throws Exception {
    assertProblems();
    trackers.add(snapshotId, List.of(snapshotId));
    assertProblems();
    referring("shallow-1");
    JournalEntry second = referring("shallow-2");
    volumes.reserve("ordinary", uuid -> "csi-vol-" + uuid, Map.of());
    assertProblems();
    trackers.mask(snapshotId, snapshotId);
    assertProblems();
    trackers.remove(snapshotId, second.name());
    volumes.remove(second);
    assertProblems();
    assertThat(tracker("verify", snapshotId).exitCode()).isZero();
  }

  @Test
  void referencesWithoutVolumesAreFound() throws Exception {
    referring("shallow-1");
    JournalEntry other = shallow("shallow-of-another", id(UUID.randomUUID()));
    String gone = "csi-vol-" + UUID.randomUUID();
    trackers.add(snapshotId, List.of("nonsense", gone, other.name()));
    assertProblems(
        "reference nonsense is of no volume",
        "reference " + gone + " is of no volume",
        "reference " + other.name() + " is of a volume that does not show this snapshot",
        "there is no tracker, but volume " + other.name() + " shows the snapshot");
    assertThat(JSON.readTree(tracker("verify", snapshotId, "-o", "json").out()).get("trackers"))
        .as("one that is named is checked alone")
        .hasSize(1);
  }

  @Test
  void volumesWithoutReferencesAreFound() throws Exception {
    referring("shallow-1");
    JournalEntry unprotected = shallow("shallow-2", snapshotId);
    assertProblems("volume " + unprotected.name() + " shows the snapshot and has no reference");
    trackers.add(snapshotId, List.of(unprotected.name()));
    trackers.remove(snapshotId, snapshotId);
    assertProblems("the snapshot fsnap-1 exists and has no reference");
  }

  @Test
  void snapshotsThatAreGoneAreFound() throws Exception {
    referring("shallow-1");
    removeBackingSnapshot();
    assertProblems("the file system has no snapshot " + snapshot.name());
    snapshots.remove(snapshot);
    assertProblems("the snapshot's own reference is left, the journal has no such snapshot");
    trackers.mask(snapshotId, snapshotId);
    assertProblems("the journal has no such snapshot");
  }

  @Test
  void aCountThatIsWrongIsFound() throws Exception {
    referring("shallow-1");
    io.writeFull("rt-backingsnapshot-" + snapshotId, new byte[] {0, 0, 0, 7});
    assertProblems("it counts 7 references and has 2");
  }
}
