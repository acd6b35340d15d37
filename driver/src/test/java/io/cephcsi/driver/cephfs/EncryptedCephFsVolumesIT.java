package io.cephcsi.driver.cephfs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.driver.app.DriverConfig;
import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.cluster.ConnectionPool;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.kms.KmsCatalog;
import io.cephcsi.driver.kms.KmsConfig;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.testing.StoringKms;
import io.cephcsi.driver.testing.SubvolumeState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.ContentSource;
import io.cephcsi.driver.volume.CreatedVolume;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.testing.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Volumes with encrypted files, as the controller makes, copies and deletes them. */
@Timeout(120)
class EncryptedCephFsVolumesIT {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final SubvolumeState STATE = new SubvolumeState(CLUSTER);
  private static final long MIB = 1L << 20;
  private static final Duration PATIENCE = Duration.ofSeconds(15);

  @TempDir private Path folder;
  private final StoringKms kms = new StoringKms();
  private final OperationRegistry operations = new OperationRegistry(PATIENCE);
  private final String name = "encrypted-" + UUID.randomUUID();

  @SuppressWarnings("NullAway.Init")
  private ConnectionPool connections;

  @SuppressWarnings("NullAway.Init")
  private CephFsVolumes volumes;

  @SuppressWarnings("NullAway.Init")
  private CephFsSnapshots snapshots;

  @SuppressWarnings("NullAway.Init")
  private Credentials user;

  @BeforeEach
  void start() throws Exception {
    ClusterDirectory clusters = new ClusterDirectory(TestDriver.clustersFile(CLUSTER, folder));
    connections = new ConnectionPool(PATIENCE, PATIENCE);
    KmsCatalog others = KmsConfig.ofProcess(Path.of("/nonexistent"));
    KmsCatalog catalog = id -> id.equals("store") ? kms : others.require(id);
    volumes = new CephFsVolumes(clusters, connections, operations, "default", catalog);
    snapshots = new CephFsSnapshots(volumes, operations);
    user = user(TestDriver.PASSPHRASE);
  }

  private static Credentials user(String passphrase) {
    Map<String, String> secrets =
        new HashMap<>(TestDriver.secrets(CLUSTER, DriverConfig.Type.CEPHFS));
    if (!passphrase.isEmpty()) {
      secrets.put("encryptionPassphrase", passphrase);
    }
    return Storage.CEPHFS.credentials(secrets);
  }

  @AfterEach
  void stop() {
    volumes.close();
    connections.close();
    assertThat(STATE.leftovers()).isEmpty();
  }

  private static CephFsRequest request(
      String name, Optional<ContentSource> source, boolean onlyRead, String... more) {
    Map<String, String> parameters = new HashMap<>();
    parameters.put("clusterID", TestDriver.CLUSTER_ID);
    parameters.put("fsName", CLUSTER.fileSystem());
    for (int i = 0; i < more.length; i += 2) {
      parameters.put(more[i], more[i + 1]);
    }
    return new CephFsRequest(
        name,
        CephFsParameters.parse(parameters),
        new CapacityRange(onlyRead ? 0 : 64 * MIB, 0),
        source,
        onlyRead,
        Optional.empty());
  }

  private CephFsRequest encrypted(String called, Optional<ContentSource> source, String kmsId) {
    return request(
        called,
        source,
        source.isPresent(),
        "encrypted",
        "true",
        "encryptionKMSID",
        kmsId,
        "csi.storage.k8s.io/pvc/namespace",
        "shop");
  }

  private CreatedVolume create(CephFsRequest request) {
    return volumes.create(request, user, CopyWait.NONE);
  }

  private static Map<String, String> entry(String kind, VolumeId id) {
    return STATE.omap("csi." + kind + "." + id.uuid());
  }

  private static void assertRefused(Reason reason, String text, Runnable call) {
    assertThatThrownBy(call::run)
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(reason))
        .hasMessageContaining(text);
  }

  private void staged(VolumeId id) {
    kms.kept().put(id.toString(), "secret-of-files-".repeat(6).substring(0, 88));
  }

  private VolumeId snapshot(String called, VolumeId volume) {
    return snapshots.create(called, volume, Optional.empty(), "csi-snap-", user).id();
  }

  @Test
  void theSecretOfAVolumeGoesToItsSnapshotsAndToWhatShowsThem() {
    CreatedVolume made = create(encrypted(name, Optional.empty(), "store"));
    VolumeId volume = made.id();
    assertThat(made.context()).containsEntry("encrypted", "true");
    assertThat(create(encrypted(name, Optional.empty(), "store")).id()).isEqualTo(volume);
    assertThat(entry("volume", volume))
        .containsEntry("csi.volume.encryptKMS", "store")
        .containsEntry("csi.volume.encryptionType", "file")
        .containsEntry("csi.volume.owner", "shop");
    assertThat(kms.kept()).as("the first staging makes it").isEmpty();

    VolumeId blank = snapshot(name + "-blank", volume);
    Optional<ContentSource> ofBlank = Optional.of(new ContentSource.OfSnapshot(blank));
    assertRefused(
        Reason.FAILED_PRECONDITION,
        "KMS store has no secret of " + blank,
        () -> create(encrypted(name + "-b", ofBlank, "store")));
    snapshots.delete(blank, user);

    staged(volume);
    String secret = kms.kept().get(volume.toString());
    VolumeId snapshot = snapshot(name, volume);
    assertThat(entry("snap", snapshot))
        .containsEntry("csi.volume.encryptKMS", "store")
        .containsEntry("csi.volume.encryptionType", "file")
        .containsEntry("csi.volume.owner", "shop");
    assertThat(kms.kept()).containsEntry(snapshot.toString(), secret).hasSize(2);
    assertThat(snapshot(name, volume)).isEqualTo(snapshot);
    Optional<ContentSource> source = Optional.of(new ContentSource.OfSnapshot(snapshot));
    VolumeId shown = create(encrypted(name + "-s", source, "store")).id();
    assertThat(create(encrypted(name + "-s", source, "store")).id()).isEqualTo(shown);
    assertThat(kms.kept()).containsEntry(shown.toString(), secret).hasSize(3);
    Map<String, String> context = Map.of("encrypted", "true", "encryptionKMSID", "store");
    assertThat(volumes.locate(shown, context, user).secret().orElseThrow().owner().volumeId())
        .isEqualTo(shown.toString());

    snapshots.delete(snapshot, user);
    assertThat(kms.kept()).as("it is still shown").hasSize(3);
    volumes.delete(shown, user);
    assertThat(kms.kept()).containsOnlyKeys(volume.toString());
    volumes.delete(volume, user);
    assertThat(kms.kept()).isEmpty();
  }

  @Test
  void aKmsThatIsDownKeepsTheEntryOfWhatIsDeletedUntilItAnswers() {
    VolumeId volume = create(encrypted(name, Optional.empty(), "store")).id();
    staged(volume);
    VolumeId snapshot = snapshot(name, volume);
    kms.down(true);
    assertRefused(Reason.UNAVAILABLE, "down", () -> snapshots.delete(snapshot, user));
    assertThat(entry("snap", snapshot)).isNotEmpty();
    kms.down(false);
    snapshots.delete(snapshot, user);
    assertThat(kms.kept()).containsOnlyKeys(volume.toString());

    kms.down(true);
    assertRefused(Reason.UNAVAILABLE, "down", () -> snapshot(name + "-2", volume));
    assertRefused(Reason.UNAVAILABLE, "down", () -> volumes.delete(volume, user));
    assertThat(STATE.subvolumes()).doesNotContain("csi-vol-" + volume.uuid());
    assertThat(entry("volume", volume)).isNotEmpty();
    kms.down(false);
    volumes.delete(volume, user);
    assertThat(kms.kept()).isEmpty();
    assertThatThrownBy(() -> entry("volume", volume)).isInstanceOf(CephException.NotFound.class);
    assertRefused(Reason.NOT_FOUND, "does not exist", () -> snapshot(name + "-2", volume));
  }

  /** The manager copies ciphertext into a directory without a policy: nobody could read it. */
  @Test
  void copiesThatNobodyCouldReadAreRefusedAndWhatDiffersToo() {
    VolumeId volume = create(encrypted(name, Optional.empty(), "default")).id();
    VolumeId snapshot = snapshot(name, volume);
    ContentSource ofSnapshot = new ContentSource.OfSnapshot(snapshot);
    for (ContentSource source :
        new ContentSource[] {new ContentSource.OfVolume(volume), ofSnapshot}) {
      assertRefused(
          Reason.UNIMPLEMENTED,
          "cannot copy " + source.id(),
          () ->
              create(
                  request(
                      name + "-c",
                      Optional.of(source),
                      false,
                      "encrypted",
                      "true",
                      "encryptionKMSID",
                      "default")));
      assertRefused(
          Reason.INVALID_ARGUMENT,
          "without encryption",
          () -> create(request(name + "-p", Optional.of(source), false)));
    }
    assertRefused(
        Reason.INVALID_ARGUMENT,
        "without encryption",
        () -> create(request(name + "-p", Optional.of(ofSnapshot), true)));
    assertRefused(
        Reason.ALREADY_EXISTS, "default", () -> create(request(name, Optional.empty(), false)));
    assertRefused(
        Reason.ALREADY_EXISTS, "default", () -> create(encrypted(name, Optional.empty(), "store")));
    assertRefused(
        Reason.INVALID_ARGUMENT,
        "not configured",
        () -> create(encrypted(name + "-k", Optional.empty(), "unknown")));
    Credentials without = user("");
    assertRefused(
        Reason.INVALID_ARGUMENT,
        "encryptionPassphrase",
        () ->
            volumes.create(
                encrypted(name + "-n", Optional.empty(), "default"), without, CopyWait.NONE));
    VolumeId shown = create(encrypted(name + "-s", Optional.of(ofSnapshot), "default")).id();
    Credentials another = user("another passphrase");
    assertThat(volumes.locate(shown, Map.of("encrypted", "true"), another).secret()).isPresent();
    assertRefused(
        Reason.FAILED_PRECONDITION,
        "is encrypted by the journal",
        () -> volumes.locate(volume, Map.of(), user));
    assertRefused(
        Reason.FAILED_PRECONDITION,
        "the journal \"default\"",
        () ->
            volumes.locate(volume, Map.of("encrypted", "true", "encryptionKMSID", "store"), user));
    volumes.delete(shown, user);
    snapshots.delete(snapshot, user);
    volumes.delete(volume, user);
    VolumeId plain = create(request(name + "-q", Optional.empty(), false)).id();
    assertRefused(
        Reason.INVALID_ARGUMENT,
        "is not encrypted",
        () ->
            create(
                request(
                    name + "-e",
                    Optional.of(new ContentSource.OfVolume(plain)),
                    false,
                    "encrypted",
                    "true")));
    volumes.delete(plain, user);
  }

  /** Who writes to the pool names his own tenant in the journal, whose secrets he knows. */
  @Test
  void whatShowsASnapshotTakesNoSecretOfAnotherTenant() {
    kms.byTenant(true);
    VolumeId volume = create(encrypted(name, Optional.empty(), "store")).id();
    staged(volume);
    VolumeId snapshot = snapshot(name, volume);
    Optional<ContentSource> source = Optional.of(new ContentSource.OfSnapshot(snapshot));
    STATE.setOmap("csi.snap." + snapshot.uuid(), "csi.volume.owner", "evil");
    assertRefused(
        Reason.FAILED_PRECONDITION,
        "of the tenant \"evil\"",
        () -> create(encrypted(name + "-s", source, "store")));
    VolumeId meant =
        create(
                request(
                    name + "-s",
                    source,
                    true,
                    "encrypted",
                    "true",
                    "encryptionKMSID",
                    "store",
                    "encryptionSourceTenants",
                    "bank,evil",
                    "csi.storage.k8s.io/pvc/namespace",
                    "shop"))
            .id();
    volumes.delete(meant, user);
    STATE.setOmap("csi.snap." + snapshot.uuid(), "csi.volume.owner", "shop");
    snapshots.delete(snapshot, user);
    volumes.delete(volume, user);
    assertThat(kms.kept()).isEmpty();
  }

  /** ceph-csi writes the namespace of another claim into the journal. */
  @Test
  void anotherTenantInTheJournalIsRefusedWhereTheKmsIsByTenant() {
    VolumeId volume = create(encrypted(name, Optional.empty(), "store")).id();
    Map<String, String> context =
        Map.of("encrypted", "true", "encryptionKMSID", "store", "encryptionTenant", "evil");
    assertThat(volumes.locate(volume, context, user).secret()).isPresent();
    kms.byTenant(true);
    assertRefused(
        Reason.FAILED_PRECONDITION,
        "volume_context says encryptionTenant \"evil\", the journal \"shop\" (csi.volume.owner)",
        () -> volumes.locate(volume, context, user));
    volumes.delete(volume, user);
  }

  @Test
  void whatWasReservedForAKmsThatIsGoneIsNeitherDeletedNorForgotten() {
    VolumeId volume = create(encrypted(name, Optional.empty(), "store")).id();
    staged(volume);
    String key = "csi.volume.encryptKMS";
    STATE.setOmap("csi.volume." + volume.uuid(), key, "lost");
    assertRefused(Reason.FAILED_PRECONDITION, "not configured", () -> volumes.delete(volume, user));
    assertThat(STATE.subvolumes()).contains("csi-vol-" + volume.uuid());
    STATE.setOmap("csi.volume." + volume.uuid(), key, "store");
    VolumeId snapshot = snapshot(name, volume);
    STATE.setOmap("csi.snap." + snapshot.uuid(), key, "lost");
    Map<String, String> before = entry("snap", snapshot);
    assertRefused(
        Reason.FAILED_PRECONDITION, "not configured", () -> snapshots.delete(snapshot, user));
    assertThat(entry("snap", snapshot)).isEqualTo(before);
    STATE.setOmap("csi.snap." + snapshot.uuid(), key, "store");
    snapshots.delete(snapshot, user);
    volumes.delete(volume, user);
    assertThat(kms.kept()).isEmpty();
  }
}
