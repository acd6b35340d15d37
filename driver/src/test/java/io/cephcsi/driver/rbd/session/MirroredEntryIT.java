package io.cephcsi.driver.rbd.session;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.MirrorDaemon;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.testing.TestReplication;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import java.nio.file.Files;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Volumes whose images are there without an entry in the journal, as the daemons bring them to the
 * other site. Here the entry is taken away; ReplicationFailoverIT has the two sites.
 */
class MirroredEntryIT {
  private static final long MIB = 1L << 20;
  private static final long SIZE = 16 * MIB;
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final String POOL = "adopted-" + UUID.randomUUID();
  private static final String DIRECTORY = "csi.volumes.default";

  private static TestDriver driver;
  private static TestDriver another;
  private static Omaps journal;

  private final String name = "pvc-" + UUID.randomUUID();

  @BeforeAll
  static void start() {
    MirrorDaemon.makePool(CLUSTER, POOL);
    driver = TestDriver.rbd(CLUSTER).start();
    another = TestDriver.rbd(CLUSTER).start();
    journal = new Omaps(CLUSTER, POOL, "");
  }

  @AfterAll
  static void stop() {
    driver.close();
    another.close();
    CLUSTER.ceph("osd", "pool", "rm", POOL, POOL, "--yes-i-really-really-mean-it");
  }

  private static CreateVolumeRequest.Builder in(CreateVolumeRequest.Builder request) {
    return request.putParameters("pool", POOL);
  }

  private Volume create() {
    return driver.create(in(driver.createRequest(name, SIZE)));
  }

  private Volume mirrored() {
    Volume volume = create();
    TestReplication.of(driver).enable(volume.getVolumeId(), Map.of());
    return volume;
  }

  private static String spec(Volume volume) {
    return POOL + "/" + TestDriver.image(volume);
  }

  private static UUID uuid(Volume volume) {
    return VolumeId.parse(volume.getVolumeId()).orElseThrow().uuid();
  }

  private static String entry(Volume volume) {
    return "csi.volume." + uuid(volume);
  }

  /** Takes the entry away; its keys, but for those that are of the site. */
  private Map<String, String> forget(Volume volume) {
    Map<String, String> keys = new TreeMap<>(journal.of(entry(volume)));
    keys.keySet().removeIf(key -> key.startsWith("csi.java."));
    journal.remove(entry(volume));
    journal.removeKey(DIRECTORY, "csi.volume." + name);
    return keys;
  }

  private static void assertMadeByACall(Volume volume, Map<String, String> keys) {
    driver.expand(volume.getVolumeId(), 2 * SIZE);
    assertThat(journal.of(entry(volume))).containsExactlyInAnyOrderEntriesOf(keys);
  }

  private static void end(Volume volume) {
    TestReplication.of(driver).disable(volume.getVolumeId(), false);
    driver.delete(volume.getVolumeId());
    assertThat(journal.objects()).doesNotContain(entry(volume));
    assertThat(CLUSTER.rbd("ls", POOL)).doesNotContain(uuid(volume).toString());
  }

  @Test
  void theFirstCallMakesTheEntryOfAMirroredVolume() {
    Volume volume =
        driver.create(
            in(driver.createRequest(name, SIZE))
                .putParameters("csi.storage.k8s.io/pvc/namespace", "tenant-a"));
    TestReplication.of(driver).enable(volume.getVolumeId(), Map.of());
    Map<String, String> before = forget(volume);
    assertThat(before).containsEntry("csi.volume.owner", "tenant-a");
    assertThat(driver.expand(volume.getVolumeId(), 2 * SIZE)).isEqualTo(2 * SIZE);
    assertThat(journal.of(entry(volume))).containsExactlyInAnyOrderEntriesOf(before);
    assertThat(journal.of(DIRECTORY)).containsEntry("csi.volume." + name, uuid(volume).toString());
    assertThat(create().getVolumeId()).isEqualTo(volume.getVolumeId()); // by its name
    end(volume);
  }

  @Test
  void aVolumeThatIsNotMirroredAnyMoreIsDeletedByItsImage() {
    Volume volume = mirrored();
    TestReplication.of(driver).disable(volume.getVolumeId(), false);
    forget(volume);
    driver.delete(volume.getVolumeId());
    assertThat(CLUSTER.rbd("ls", POOL)).doesNotContain(uuid(volume).toString());
    assertThat(journal.objects()).doesNotContain(entry(volume));
    assertThat(journal.of(DIRECTORY)).doesNotContainKey("csi.volume." + name);
  }

  /** A driver that dies between the two writes leaves the name. */
  @Test
  void aNameThatLeadsToNoEntryYetIsNoHindrance() {
    Volume volume = mirrored();
    Map<String, String> before = forget(volume);
    journal.set(DIRECTORY, "csi.volume." + name, uuid(volume).toString());
    assertMadeByACall(volume, before);
    end(volume);
  }

  @Test
  void manyCallsOfTwoDriversMakeOneEntry() throws Exception {
    Volume volume = mirrored();
    Map<String, String> before = forget(volume);
    ExecutorService threads = Executors.newFixedThreadPool(2);
    try {
      List<Future<Long>> calls =
          List.of(
              threads.submit(() -> driver.expand(volume.getVolumeId(), 2 * SIZE)),
              threads.submit(() -> another.expand(volume.getVolumeId(), 2 * SIZE)));
      for (Future<Long> call : calls) {
        assertThat(call.get()).isEqualTo(2 * SIZE);
      }
    } finally {
      threads.shutdownNow();
    }
    assertThat(journal.of(entry(volume))).containsExactlyInAnyOrderEntriesOf(before);
    end(volume);
  }

  @Test
  void anImageWithAnotherPrefixIsFound() {
    Volume volume =
        driver.create(
            in(driver.createRequest(name, SIZE)).putParameters("volumeNamePrefix", "tenant-a-"));
    TestReplication.of(driver).enable(volume.getVolumeId(), Map.of());
    Map<String, String> before = forget(volume);
    assertThat(before).containsEntry("csi.imagename", "tenant-a-" + uuid(volume));
    assertMadeByACall(volume, before);
    end(volume);
  }

  @Test
  void theEntryOfAVolumeThatAnotherProgramMirroredIsMadeFromTheNamesOfKubernetes() {
    Volume volume = create();
    CLUSTER.rbd("mirror", "image", "enable", spec(volume), "snapshot");
    Map<String, String> before = forget(volume);
    String id = volume.getVolumeId();
    assertStatus(Code.NOT_FOUND, () -> driver.expand(id, 2 * SIZE)); // no name at all
    CLUSTER.rbd("image-meta", "set", spec(volume), "csi.storage.k8s.io/pv/name", name);
    CLUSTER.rbd("image-meta", "set", spec(volume), "csi.storage.k8s.io/pvc/namespace", "tenant-b");
    CLUSTER.rbd("image-meta", "set", spec(volume), "rbd.csi.ceph.com/encrypted", "encrypted");
    assertStatus(Code.NOT_FOUND, () -> driver.expand(id, 2 * SIZE)); // by which KMS?
    CLUSTER.rbd("image-meta", "remove", spec(volume), "rbd.csi.ceph.com/encrypted");
    driver.expand(id, 2 * SIZE);
    before.put("csi.volume.owner", "tenant-b");
    assertThat(journal.of(entry(volume))).containsExactlyInAnyOrderEntriesOf(before);
    end(volume);
  }

  @Test
  void theNamesOfKubernetesAreNotEnoughForAnImageThatIsNotMirrored() {
    Volume volume = create();
    CLUSTER.rbd("image-meta", "set", spec(volume), "csi.storage.k8s.io/pv/name", name);
    Map<String, String> before = forget(volume);
    assertStatus(Code.NOT_FOUND, () -> driver.expand(volume.getVolumeId(), 2 * SIZE));
    assertThat(journal.objects()).doesNotContain(entry(volume));
    journal.put(Map.of(entry(volume), before));
    driver.delete(volume.getVolumeId());
  }

  /** The program rbd, as librbd, copies metadata to clones. */
  @Test
  void theRecordOfAnotherImageIsNotTaken() {
    Volume volume = mirrored();
    UUID other = UUID.randomUUID();
    String clone = POOL + "/csi-vol-" + other;
    CLUSTER.rbd("snap", "create", spec(volume) + "@s", "--no-progress");
    CLUSTER.rbd("clone", spec(volume) + "@s", clone, "--rbd-default-clone-format", "2");
    assertThat(CLUSTER.rbd("image-meta", "ls", clone)).contains("csi.java.journalentry");
    String id = volume.getVolumeId().replace(uuid(volume).toString(), other.toString());
    assertStatus(Code.NOT_FOUND, () -> driver.expand(id, 2 * SIZE));
    driver.delete(id); // nothing that the journal or an image knows
    assertThat(CLUSTER.rbd("ls", POOL)).contains("csi-vol-" + other);
    CLUSTER.rbd("rm", clone, "--no-progress");
    CLUSTER.rbd("snap", "rm", spec(volume) + "@s", "--no-progress");
    end(volume);
  }

  @Test
  void aNameThatIsAnotherVolumesHereIsNotTaken() {
    Volume volume = mirrored();
    Map<String, String> before = forget(volume);
    Volume other = create();
    assertThat(other.getVolumeId()).isNotEqualTo(volume.getVolumeId());
    assertStatus(
        Code.FAILED_PRECONDITION,
        "another volume's",
        () -> driver.expand(volume.getVolumeId(), 2 * SIZE));
    assertStatus(
        Code.FAILED_PRECONDITION, "another volume's", () -> driver.delete(volume.getVolumeId()));
    TestReplication replication = TestReplication.of(driver);
    assertStatus( // not FAILED_PRECONDITION, at which it would be forced
        Code.ABORTED, "another volume's", () -> replication.promote(volume.getVolumeId(), false));
    assertStatus(
        Code.FAILED_PRECONDITION,
        "another volume's",
        () -> replication.promote(volume.getVolumeId(), true));
    assertThat(CLUSTER.rbd("ls", POOL)).contains(TestDriver.image(volume));
    driver.delete(other.getVolumeId());
    assertMadeByACall(volume, before);
    end(volume);
  }

  @Test
  void aForgedRecordIsRefused() throws Exception {
    Volume volume = mirrored();
    Map<String, String> before = forget(volume);
    CLUSTER.rbd(
        "image-meta",
        "set",
        spec(volume),
        "csi.java.journalentry",
        "{\"name\":\"a\\u0000b\",\"image\":\"" + TestDriver.image(volume) + "\"}");
    assertStatus(
        Code.FAILED_PRECONDITION,
        "control characters",
        () -> driver.expand(volume.getVolumeId(), 2 * SIZE));
    assertThat(journal.objects()).doesNotContain(entry(volume));
    journal.put(Map.of(entry(volume), before));
    end(volume);
  }

  /** By the cluster mapping, as after a failover to a cluster of another name. */
  @Test
  void anIdOfAnotherClusterIsEnough() throws Exception {
    Volume volume = mirrored();
    Map<String, String> before = forget(volume);
    VolumeId here = VolumeId.parse(volume.getVolumeId()).orElseThrow();
    String there = new VolumeId("lost-site", 7_777, here.uuid()).toString();
    assertStatus(Code.NOT_FOUND, () -> driver.expand(there, 2 * SIZE));
    Files.writeString(
        driver.folder().resolve("cluster-mapping.json"),
        "[{\"clusterIDMapping\": {\"lost-site\": \"%s\"}, \"RBDPoolIDMapping\": [{\"7777\": \"%d\"}]}]"
            .formatted(here.clusterId(), here.location()));
    driver.expand(there, 2 * SIZE);
    assertThat(journal.of(entry(volume))).containsExactlyInAnyOrderEntriesOf(before);
    TestReplication.of(driver).disable(there, false);
    driver.delete(there);
    assertThat(CLUSTER.rbd("ls", POOL)).doesNotContain(uuid(volume).toString());
  }
}
