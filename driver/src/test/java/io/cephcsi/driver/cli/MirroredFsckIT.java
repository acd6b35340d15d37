package io.cephcsi.driver.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cephcsi.driver.testing.MirrorDaemon;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.testing.TestReplication;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.TestCluster;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * {@code ceph-csi fsck} where images were mirrored to: the journal has no entries of them before
 * the first call for each. Here the entry is taken away.
 */
class MirroredFsckIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final TestCluster CEPH = TestCluster.shared();
  private static final String POOL = "mirrored-" + UUID.randomUUID();

  private static TestDriver driver;
  private static Omaps journal;

  @TempDir private Path folder;

  @BeforeAll
  static void start() {
    MirrorDaemon.makePool(CEPH, POOL);
    driver = TestDriver.rbd(CEPH).start();
    journal = new Omaps(CEPH, POOL, "");
  }

  @AfterAll
  static void stop() {
    driver.close();
    CEPH.ceph("osd", "pool", "rm", POOL, POOL, "--yes-i-really-really-mean-it");
  }

  /** The findings, by kind; each with its command and detail. */
  private Map<String, String> fsck(Volume... expected) throws Exception {
    Path file =
        Files.writeString(
            folder.resolve("pv.json"),
            Stream.of(expected)
                .map(
                    volume ->
                        """
                        {"kind": "PersistentVolume", "spec": {"csi": {"volumeHandle": "%s"}}}
                        """
                            .formatted(volume.getVolumeId()))
                .collect(Collectors.joining(",", "{\"items\": [", "]}")));
    Program checked =
        Program.run(
            "fsck",
            "--pool",
            POOL,
            "--settle=10ms",
            "--min-age=0",
            "--conf=" + CEPH.conf(),
            "--expect=" + file,
            "--output=json");
    assertThat(checked.err()).isEmpty();
    Map<String, String> found = new TreeMap<>();
    for (JsonNode finding : JSON.readTree(checked.out()).get("findings")) {
      found.put(
          finding.get("kind").asText(),
          finding.get("command").asText() + "|" + finding.get("detail").asText());
    }
    assertThat(checked.exitCode()).isEqualTo(found.isEmpty() ? 0 : 3);
    return found;
  }

  private static void forget(Volume volume, String name) {
    UUID uuid = VolumeId.parse(volume.getVolumeId()).orElseThrow().uuid();
    journal.remove("csi.volume." + uuid);
    journal.removeKey("csi.volumes.default", "csi.volume." + name);
  }

  @Test
  void anImageThatIsMirroredWaitsForItsEntry() throws Exception {
    String name = "pvc-" + UUID.randomUUID();
    Volume volume = driver.create(driver.createRequest(name, 8 << 20).putParameters("pool", POOL));
    String image = TestDriver.image(volume);
    TestReplication replication = TestReplication.of(driver);
    replication.enable(volume.getVolumeId(), Map.of());
    forget(volume, name);
    assertThat(fsck(volume)).as("promoted").isEmpty();

    CEPH.rbd("mirror", "image", "demote", POOL + "/" + image);
    assertThat(fsck(volume)).as("standby").isEmpty();
    CEPH.rbd("mirror", "image", "promote", POOL + "/" + image);

    replication.disable(volume.getVolumeId(), false); // makes the entry
    forget(volume, name);
    assertThat(fsck(volume))
        .as("not mirrored any more")
        .hasEntrySatisfying(
            "MIRRORED_WITHOUT_ENTRY", text -> assertThat(text).startsWith("|image id "))
        .hasEntrySatisfying(
            "PV_WITHOUT_ENTRY",
            text -> assertThat(text).endsWith("|there is an image " + POOL + "/" + image))
        .hasSize(2);

    CEPH.rbd("image-meta", "rm", POOL + "/" + image, "csi.java.journalentry");
    Map<String, String> found = fsck(volume);
    assertThat(found.keySet()).isEqualTo(Set.of("IMAGE_WITHOUT_ENTRY", "PV_WITHOUT_ENTRY"));
    assertThat(found.get("IMAGE_WITHOUT_ENTRY")).startsWith("rbd trash mv " + POOL + "/" + image);
    CEPH.rbd("rm", "--no-progress", POOL + "/" + image);
  }

  @Test
  void aMirroredVolumeThatDoesNotSayWhatItWasIsFound() throws Exception {
    String name = "pvc-" + UUID.randomUUID();
    Volume volume = driver.create(driver.createRequest(name, 8 << 20).putParameters("pool", POOL));
    String spec = POOL + "/" + TestDriver.image(volume);
    CEPH.rbd("mirror", "image", "enable", spec, "snapshot");
    forget(volume, name);
    Set<String> kinds = Set.of("MIRRORED_UNKNOWN", "PV_WITHOUT_ENTRY");
    Map<String, String> found = fsck(volume);
    assertThat(found.keySet()).isEqualTo(kinds);
    assertThat(found.get("MIRRORED_UNKNOWN")).as("no command").startsWith("|image id ");
    CEPH.rbd("mirror", "image", "demote", spec);
    assertThat(fsck(volume).keySet()).as("standby").isEqualTo(kinds);
    CEPH.rbd("mirror", "image", "promote", spec);

    CEPH.rbd("image-meta", "set", spec, "csi.storage.k8s.io/pv/name", name);
    assertThat(fsck(volume)).as("by the names of Kubernetes").isEmpty();
    CEPH.rbd("image-meta", "set", spec, "rbd.csi.ceph.com/encrypted", "encrypted");
    assertThat(fsck(volume).keySet()).as("its KMS is not known").isEqualTo(kinds);
    CEPH.rbd("image-meta", "rm", spec, "rbd.csi.ceph.com/encrypted");
    driver.delete(volume.getVolumeId());
    assertThat(CEPH.rbd("ls", POOL)).as("adopted").doesNotContain(TestDriver.image(volume));
  }

  @Test
  void theImageOfASnapshotIsFoundOnceItIsPrimary() throws Exception {
    for (String mode : List.of("snapshot", "journal")) {
      String spec = POOL + "/csi-snap-" + UUID.randomUUID();
      CEPH.rbd("create", "--size", "8M", spec);
      CEPH.rbd("mirror", "image", "enable", spec, mode);
      CEPH.rbd("image-meta", "set", spec, "csi.storage.k8s.io/pv/name", "of-its-volume");
      assertThat(fsck().keySet()).as(mode).containsExactly("MIRRORED_UNKNOWN");
      CEPH.rbd("mirror", "image", "demote", spec);
      assertThat(fsck()).as("%s, standby", mode).isEmpty();
      CEPH.rbd("mirror", "image", "promote", spec);
      CEPH.rbd("mirror", "image", "disable", spec);
      CEPH.rbd("rm", "--no-progress", spec);
    }
  }

  @Test
  void aCopyThatHasNothingYetMayBringWhatItWas() throws Exception {
    String spec = POOL + "/csi-vol-" + UUID.randomUUID();
    CEPH.rbd("create", "--size", "8M", "--image-feature", "layering", spec);
    String header =
        "rbd_header."
            + JSON.readTree(CEPH.rbd("info", "--format", "json", spec)).get("id").asText();
    byte[] layering = {1, 0, 0, 0, 0, 0, 0, 0};
    byte[] alsoNonPrimary = {1, 4, 0, 0, 0, 0, 0, 0};
    journal.set(header, "features", alsoNonPrimary); // as the daemon of mirroring makes it
    assertThat(fsck()).isEmpty();
    journal.set(header, "features", layering);
    assertThat(fsck().keySet()).containsExactly("IMAGE_WITHOUT_ENTRY");
    CEPH.rbd("rm", "--no-progress", spec);
  }
}
