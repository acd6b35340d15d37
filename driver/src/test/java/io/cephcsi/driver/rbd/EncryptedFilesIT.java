package io.cephcsi.driver.rbd;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.ConnectionPool;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.rbd.group.RbdGroupSnapshots;
import io.cephcsi.driver.rbd.group.StaleGroupMembers;
import io.cephcsi.driver.rbd.image.ImageLabels;
import io.cephcsi.driver.rbd.parameters.CloneLimits;
import io.cephcsi.driver.rbd.parameters.RbdParameters;
import io.cephcsi.driver.rbd.parameters.RbdSettings;
import io.cephcsi.driver.rbd.parameters.SnapshotParameters;
import io.cephcsi.driver.rbd.session.RbdSessions;
import io.cephcsi.driver.rbd.snapshot.RbdSnapshots;
import io.cephcsi.driver.rbd.volume.RbdVolumes;
import io.cephcsi.driver.rbd.volume.VolumeRequest;
import io.cephcsi.driver.testing.NodeClient;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.StoringKms;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.ContentSource;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The controller's part of volumes whose files are encrypted. */
class EncryptedFilesIT {
  private static final long MIB = 1L << 20;
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final PoolState POOL = new PoolState(CLUSTER, "rbd");

  @TempDir private static Path folder;

  private static TestDriver driver;

  private String name;

  @BeforeAll
  static void start() throws IOException {
    Path kms =
        Files.writeString(
            folder.resolve("kms.json"),
            "{\"meta\": {\"encryptionKMSType\": \"metadata\"},"
                + " \"wraps\": {\"encryptionKMSType\": \"aws-metadata\","
                + " \"AWS_REGION\": \"us-east-1\"}}");
    driver = TestDriver.rbd(CLUSTER).encryptedFiles(kms, "meta").start();
  }

  @AfterAll
  static void stop() {
    driver.close();
  }

  @BeforeEach
  void name() {
    name = "files-" + UUID.randomUUID();
  }

  private static Map<String, String> entry(String kind, String id) {
    String object = "csi." + kind + "." + VolumeId.parse(id).orElseThrow().uuid();
    Omaps omaps = new Omaps(CLUSTER, "rbd", "");
    return omaps.objects().contains(object) ? omaps.of(object) : Map.of();
  }

  private static CreateVolumeRequest.Builder with(
      CreateVolumeRequest.Builder request, String key, String value) {
    return request.clone().putParameters(key, value);
  }

  private static void refused(Code code, String text, CreateVolumeRequest.Builder request) {
    assertStatus(code, text, () -> driver.create(request));
  }

  @Test
  void theJournalSaysItAndTheImageDoesNot() {
    CreateVolumeRequest.Builder request = driver.createRequest(name, 64 * MIB);
    Volume volume = driver.create(request);
    assertThat(entry("volume", volume.getVolumeId()))
        .containsEntry("csi.volume.encryptKMS", "meta")
        .containsEntry("csi.volume.encryptionType", "file");
    assertThat(CLUSTER.rbd("image-meta", "ls", "rbd/" + TestDriver.image(volume)))
        .doesNotContain("rbd.csi.ceph.com");
    assertThat(driver.create(request)).isEqualTo(volume);
    refused(Code.ALREADY_EXISTS, "KMS \"meta\", file", with(request, "encryptionType", "block"));
    Snapshot snapshot = driver.snapshot(name, volume.getVolumeId());
    assertThat(entry("snap", snapshot.getSnapshotId()))
        .containsEntry("csi.volume.encryptKMS", "meta")
        .containsEntry("csi.volume.encryptionType", "file");
    CreateVolumeRequest.Builder restore =
        driver.restoreRequest(name + "-r", 64 * MIB, snapshot.getSnapshotId());
    refused(Code.INVALID_ARGUMENT, "both must be", with(restore, "encryptionType", "block"));
    refused(Code.INVALID_ARGUMENT, "both must be", with(restore, "encrypted", "false"));
    Volume restored = driver.create(restore);
    assertThat(entry("volume", restored.getVolumeId()))
        .containsEntry("csi.volume.encryptionType", "file");
    assertThat(driver.create(restore)).isEqualTo(restored);
    Volume copied = driver.copy(name + "-c", 0, volume.getVolumeId());
    assertThat(CLUSTER.rbd("image-meta", "ls", "rbd/" + TestDriver.image(copied)))
        .doesNotContain("rbd.csi.ceph.com");
    driver.delete(copied.getVolumeId());
    driver.delete(restored.getVolumeId());
    driver.deleteSnapshot(snapshot.getSnapshotId());
    driver.delete(volume.getVolumeId());
  }

  @Test
  void otherKindsOfVolumesAreNotTheirCopies() {
    CreateVolumeRequest.Builder request = driver.createRequest(name, 64 * MIB);
    for (CreateVolumeRequest.Builder other :
        List.of(with(request, "encryptionType", "block"), with(request, "encrypted", "false"))) {
      Volume source = driver.create(other);
      refused(
          Code.INVALID_ARGUMENT,
          "both must be",
          driver.cloneRequest(name + "-c", 0, source.getVolumeId()));
      driver.delete(source.getVolumeId());
    }
  }

  @Test
  void whatCannotBeEncryptedLeavesNothing() {
    CreateVolumeRequest.Builder request = driver.createRequest(name, 64 * MIB);
    refused(Code.INVALID_ARGUMENT, "only wraps keys", with(request, "encryptionKMSID", "wraps"));
    refused(Code.INVALID_ARGUMENT, "KMS nobody", with(request, "encryptionKMSID", "nobody"));
    refused(
        Code.INVALID_ARGUMENT,
        "encryptionPassphrase",
        request.clone().removeSecrets("encryptionPassphrase"));
    refused(
        Code.INVALID_ARGUMENT,
        "ext4, not xfs",
        request
            .clone()
            .clearVolumeCapabilities()
            .addVolumeCapabilities(NodeClient.mounted("xfs", Mode.SINGLE_NODE_WRITER)));
    refused(
        Code.INVALID_ARGUMENT,
        "not a block device",
        request
            .clone()
            .clearVolumeCapabilities()
            .addVolumeCapabilities(NodeClient.block(Mode.SINGLE_NODE_WRITER)));
    refused(Code.INVALID_ARGUMENT, "block only", with(request, "encryptionSectorSize", "4096"));
    assertThat(POOL.keys("csi.volumes.default")).noneMatch(key -> key.contains(name));
  }

  private interface Work {
    void on(StoringKms store, RbdSessions sessions, Credentials user) throws IOException;
  }

  /** With the parts of a driver whose only KMS is a store. */
  private static void withStore(Work work) throws IOException {
    StoringKms store = new StoringKms();
    ClusterDirectory clusters =
        new ClusterDirectory(
            TestDriver.clustersFile(CLUSTER, Files.createTempDirectory("clusters")));
    Duration patience = Duration.ofSeconds(10);
    RbdSettings settings =
        new RbdSettings("default", CloneLimits.DEFAULT, ImageLabels.NONE, id -> store);
    try (ConnectionPool connections = new ConnectionPool(patience, patience);
        ClusterExecutors executors = new ClusterExecutors(clusters, 1, 1);
        RbdSessions sessions =
            new RbdSessions(
                clusters, connections, executors, new OperationRegistry(patience), settings)) {
      work.on(store, sessions, Storage.RBD.credentials(driver.secrets()));
    }
  }

  @Test
  void aSecretThatTheKmsStoresIsCopiedAndRemoved() throws IOException {
    withStore(this::copyAndRemove);
  }

  private void copyAndRemove(StoringKms store, RbdSessions sessions, Credentials user) {
    RbdVolumes volumes = new RbdVolumes(sessions, new StaleGroupMembers());
    RbdSnapshots snapshots = new RbdSnapshots(sessions);
    VolumeId volume = volumes.create(request(name, Optional.empty()), user).id();
    VolumeRequest early = request(name + "-e", Optional.of(new ContentSource.OfVolume(volume)));
    VolumeId neverStaged = volumes.create(early, user).id();
    assertThat(store.kept()).as("the first staging makes it").isEmpty();
    assertThat(volumes.create(early, user).id()).isEqualTo(neverStaged);

    store.kept().put(volume.toString(), new String("s".repeat(88).getBytes(UTF_8), UTF_8));
    SnapshotParameters parameters = SnapshotParameters.parse(Map.of());
    VolumeId snapshot = snapshots.create(name, volume, parameters, user).id();
    VolumeId restored =
        volumes
            .create(request(name + "-r", Optional.of(new ContentSource.OfSnapshot(snapshot))), user)
            .id();
    assertThat(store.kept())
        .containsOnlyKeys(volume.toString(), snapshot.toString(), restored.toString());
    assertThat(store.kept().values()).containsOnly("s".repeat(88));
    store.down(true);
    assertThatThrownBy(() -> volumes.delete(restored, user)).hasMessageContaining("is down");
    assertThat(entry("volume", restored.toString())).isNotEmpty();
    assertThatThrownBy(() -> snapshots.create(name + "-d", volume, parameters, user))
        .hasMessageContaining("is down");
    store.down(false);
    snapshots.delete(snapshot, user);
    volumes.delete(restored, user);
    volumes.delete(volume, user);
    assertThat(store.kept()).isEmpty();
    assertThat(volumes.create(early, user).id()).as("its source is gone").isEqualTo(neverStaged);
    volumes.delete(neverStaged, user);
    assertThat(POOL.keys("csi.volumes.default")).noneMatch(key -> key.contains(name));
  }

  @Test
  void aVolumeWithDataWhoseSecretIsLostIsNotCopied() throws IOException {
    withStore(this::loseSecrets);
  }

  private void loseSecrets(StoringKms store, RbdSessions sessions, Credentials user) {
    RbdVolumes volumes = new RbdVolumes(sessions, new StaleGroupMembers());
    RbdSnapshots snapshots = new RbdSnapshots(sessions);
    RbdGroupSnapshots groups = new RbdGroupSnapshots(sessions);
    SnapshotParameters parameters = SnapshotParameters.parse(Map.of());
    VolumeId volume = volumes.create(request(name, Optional.empty()), user).id();
    VolumeId blank = volumes.create(request(name + "-b", Optional.empty()), user).id();
    try (RadosCluster connection = CLUSTER.connect();
        IoContext io = connection.openPool("rbd");
        RbdImage image = new RbdPool(io).open("csi-vol-" + volume.uuid())) {
      image.write(64 * MIB - 1, new byte[] {1});
    }
    store.kept().put(volume.toString(), "s".repeat(88));
    VolumeId snapshot = snapshots.create(name + "-s", volume, parameters, user).id();
    store.kept().clear();
    List<String> images = POOL.images();
    notCopied(() -> snapshots.create(name + "-x", volume, parameters, user));
    notCopied(
        () ->
            volumes.create(
                request(name + "-x", Optional.of(new ContentSource.OfVolume(volume))), user));
    notCopied(
        () ->
            volumes.create(
                request(name + "-x", Optional.of(new ContentSource.OfSnapshot(snapshot))), user));
    SnapshotParameters ofGroup =
        SnapshotParameters.parse(Map.of("clusterID", TestDriver.CLUSTER_ID));
    notCopied(() -> groups.create(name + "-x", Set.of(blank, volume), ofGroup, user));
    for (String kind : List.of("volumes", "snaps", "groups")) {
      assertThat(POOL.keys("csi." + kind + ".default")).noneMatch(key -> key.contains(name + "-x"));
    }
    assertThat(POOL.images()).containsExactlyInAnyOrderElementsOf(images);
    assertThat(store.kept()).isEmpty();
    assertThat(POOL.snapshots("csi-vol-" + blank.uuid())).isEmpty();
    snapshots.delete(snapshot, user);
    volumes.delete(blank, user);
    volumes.delete(volume, user);
  }

  private static void notCopied(ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> assertThat(e.reason()).isEqualTo(Reason.FAILED_PRECONDITION))
        .hasMessageContaining("KMS store has no secret of ")
        .hasMessageContaining("its image has data; nothing was copied");
  }

  private static VolumeRequest request(String name, Optional<ContentSource> source) {
    return new VolumeRequest(
        name, RbdParameters.parse(driver.parameters()), new CapacityRange(64 * MIB, 0), source);
  }
}
