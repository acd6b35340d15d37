package io.cephcsi.driver.rbd;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.ConnectionPool;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.kms.KeyOwner;
import io.cephcsi.driver.kms.KeyWrapper;
import io.cephcsi.driver.kms.KmsConfig;
import io.cephcsi.driver.kms.Passphrase;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.rbd.encryption.ImageKey;
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
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.StoringKms;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.testing.TestGroupSnapshots;
import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.ContentSource;
import io.cephcsi.driver.volume.GroupSnapshot;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeGroupSnapshot;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The controller's part of encrypted volumes: what is kept of their passphrases. */
class EncryptedVolumesIT {
  private static final long MIB = 1L << 20;
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final PoolState POOL = new PoolState(CLUSTER, "rbd");
  private static final String STATE = "rbd.csi.ceph.com/encrypted";
  private static final String DEK = "rbd.csi.ceph.com/dek";

  @TempDir private static Path folder;

  private static Path kmsFile;
  private static TestDriver driver;
  private static KeyWrapper kms;

  private String name;

  @BeforeAll
  static void start() throws IOException {
    kmsFile =
        Files.writeString(
            folder.resolve("kms.json"),
            "{\"meta\": {\"encryptionKMSType\": \"metadata\"},"
                + " \"other\": {\"encryptionKMSType\": \"metadata\"}}");
    driver = TestDriver.rbd(CLUSTER).encrypted(kmsFile, "meta").start();
    kms = (KeyWrapper) new KmsConfig(kmsFile, Optional.empty(), Map.of()).require("meta");
  }

  @AfterAll
  static void stop() {
    driver.close();
  }

  @BeforeEach
  void name() {
    name = "enc-" + UUID.randomUUID();
  }

  private static String meta(String image, String key) {
    return CLUSTER.rbd("image-meta", "get", "rbd/" + image, key).strip();
  }

  /** The passphrase of a volume or snapshot, as ceph-csi would find it. */
  private static String passphrase(String id, String image) {
    KeyOwner owner = new KeyOwner(id, Optional.empty(), driver.secrets());
    return kms.unwrap(owner, meta(image, DEK)).text();
  }

  private static Map<String, String> entry(String kind, String id) {
    String object = "csi." + kind + "." + VolumeId.parse(id).orElseThrow().uuid();
    Omaps omaps = new Omaps(CLUSTER, "rbd", "");
    return omaps.objects().contains(object) ? omaps.of(object) : Map.of();
  }

  @Test
  void aNewVolumeHasTheKeysThatCephCsiGivesIt() {
    CreateVolumeRequest.Builder request =
        driver
            .createRequest(name, 64 * MIB)
            .putParameters("csi.storage.k8s.io/pvc/namespace", "shop");
    Volume volume = driver.create(request);
    String image = TestDriver.image(volume);
    assertThat(entry("volume", volume.getVolumeId()))
        .containsEntry("csi.volume.encryptKMS", "meta")
        .containsEntry("csi.volume.encryptionType", "block")
        .containsEntry("csi.volume.owner", "shop");
    assertThat(meta(image, STATE)).isEqualTo("encryptionPrepared");
    String dek = meta(image, DEK);
    assertThat(passphrase(volume.getVolumeId(), image)).matches("[A-Za-z0-9_-]{27}=");
    assertThat(volume.getVolumeContextMap())
        .containsEntry("encrypted", "true")
        .containsEntry("encryptionKMSID", "meta")
        .containsEntry("encryptionTenant", "shop")
        .doesNotContainKey("encryptionPassphrase");
    CLUSTER.rbd("image-meta", "set", "rbd/" + image, STATE, "encrypted");
    assertThat(driver.create(request)).isEqualTo(volume);
    assertThat(meta(image, DEK)).as("a repeated call makes no other passphrase").isEqualTo(dek);
    assertThat(meta(image, STATE)).isEqualTo("encrypted");
    driver.delete(volume.getVolumeId());
    assertThat(POOL.images()).doesNotContain(image);
  }

  @Test
  void aPassphraseIsReplacedOnlyIfItIsTheExpectedOne() {
    Volume volume = driver.create(name, 64 * MIB);
    KeyOwner owner = new KeyOwner(volume.getVolumeId(), Optional.empty(), driver.secrets());
    try (RadosCluster connection = CLUSTER.connect();
        IoContext io = connection.openPool("rbd")) {
      RbdPool pool = new RbdPool(io);
      String imageId = ImageId.find(pool, TestDriver.image(volume)).orElseThrow();
      ImageKey key = new ImageKey(pool, imageId, kms, owner);
      Passphrase present = key.fetch();
      Passphrase next = Passphrase.random();
      for (int i = 0; i < 2; i++) {
        key.replace(present, next);
        assertThat(key.fetch().isSame(next)).isTrue();
      }
      assertThatThrownBy(() -> key.replace(present, Passphrase.random()))
          .isInstanceOfSatisfying(
              VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.ABORTED));
      assertThat(key.fetch().isSame(next)).isTrue();
    }
    driver.delete(volume.getVolumeId());
  }

  @Test
  void theDefaultKmsKeepsNothing() {
    CreateVolumeRequest.Builder request =
        driver.createRequest(name, 64 * MIB).removeParameters("encryptionKMSID");
    Volume volume = driver.create(request);
    String image = TestDriver.image(volume);
    assertThat(entry("volume", volume.getVolumeId()))
        .containsEntry("csi.volume.encryptKMS", "default");
    assertThat(CLUSTER.rbd("image-meta", "ls", "rbd/" + image))
        .contains("encryptionPrepared")
        .doesNotContain(DEK);
    Snapshot snapshot = driver.snapshot(name, volume.getVolumeId());
    assertThat(meta(TestDriver.image(snapshot), STATE)).isEqualTo("encryptionPrepared");
    driver.deleteSnapshot(snapshot.getSnapshotId());
    driver.delete(volume.getVolumeId());
  }

  @Test
  void whatCannotBeEncryptedLeavesNothing() {
    CreateVolumeRequest.Builder request = driver.createRequest(name, 64 * MIB);
    refused(Code.INVALID_ARGUMENT, "KMS nobody", with(request, "encryptionKMSID", "nobody"));
    refused(Code.INVALID_ARGUMENT, "encrypted", with(request, "encrypted", "yes"));
    refused(Code.OUT_OF_RANGE, "LUKS takes 16 MiB", driver.createRequest(name, 16 * MIB));
    refused(Code.INVALID_ARGUMENT, "encryptionType", with(request, "encryptionType", ""));
    refused(
        Code.INVALID_ARGUMENT,
        "for encryptionType block only",
        with(with(request, "encryptionType", "file"), "encryptionCipher", "aes-xts-plain64"));
    refused(Code.INVALID_ARGUMENT, "encryptionCipher", with(request, "encryptionCipher", "rot13"));
    refused(Code.INVALID_ARGUMENT, "KeySize", with(request, "encryptionKeySize", "64"));
    refused(Code.INVALID_ARGUMENT, "SectorSize", with(request, "encryptionSectorSize", "8192"));
    refused(
        Code.FAILED_PRECONDITION, "integrityMode", with(request, "integrityMode", "hmac-sha256"));
    refused(
        Code.INVALID_ARGUMENT,
        "encryptionPassphrase",
        request.clone().removeSecrets("encryptionPassphrase"));
    assertThat(POOL.keys("csi.volumes.default")).noneMatch(key -> key.contains(name));
  }

  private static CreateVolumeRequest.Builder with(
      CreateVolumeRequest.Builder request, String key, String value) {
    return request.clone().putParameters(key, value);
  }

  private static void refused(Code code, String text, CreateVolumeRequest.Builder request) {
    assertStatus(code, text, () -> driver.create(request));
  }

  @Test
  void theSameNameWithAnotherEncryptionIsAnotherVolume() {
    CreateVolumeRequest.Builder request = driver.createRequest(name, 64 * MIB);
    Volume volume = driver.create(request);
    refused(Code.ALREADY_EXISTS, "KMS \"meta\"", with(request, "encryptionKMSID", "other"));
    refused(Code.ALREADY_EXISTS, "KMS \"meta\"", with(request, "encrypted", "false"));
    driver.delete(volume.getVolumeId());
    Volume plain = driver.create(with(request, "encrypted", "false"));
    refused(Code.ALREADY_EXISTS, "not encrypted", request);
    driver.delete(plain.getVolumeId());
  }

  @Test
  void copiesHaveThePassphraseOfTheirSourceUnderTheirOwnIds() {
    Volume volume = driver.create(name, 64 * MIB);
    String source = passphrase(volume.getVolumeId(), TestDriver.image(volume));
    CLUSTER.rbd("image-meta", "set", "rbd/" + TestDriver.image(volume), STATE, "encrypted");
    Snapshot snapshot = driver.snapshot(name, volume.getVolumeId());
    assertThat(entry("snap", snapshot.getSnapshotId()))
        .containsEntry("csi.volume.encryptKMS", "meta")
        .containsEntry("csi.volume.encryptionType", "block");
    String image = TestDriver.image(snapshot);
    assertThat(passphrase(snapshot.getSnapshotId(), image)).isEqualTo(source);
    assertThat(meta(image, STATE)).isEqualTo("encrypted");

    Volume restored =
        driver.create(
            with(
                driver.restoreRequest(name + "-r", 0, snapshot.getSnapshotId()),
                "encryptionKMSID",
                "other"));
    Volume copied = driver.copy(name + "-c", 96 * MIB, volume.getVolumeId());
    for (Volume copy : new Volume[] {restored, copied}) {
      assertThat(passphrase(copy.getVolumeId(), TestDriver.image(copy))).isEqualTo(source);
      assertThat(meta(TestDriver.image(copy), STATE)).isEqualTo("encrypted");
    }
    assertThat(entry("volume", restored.getVolumeId()))
        .containsEntry("csi.volume.encryptKMS", "other");
    assertThat(driver.copy(name + "-c", 96 * MIB, volume.getVolumeId())).isEqualTo(copied);

    refused(
        Code.INVALID_ARGUMENT,
        "without encryption",
        with(driver.cloneRequest(name + "-p", 0, volume.getVolumeId()), "encrypted", "false"));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "native",
        () ->
            driver.snapshot(
                driver
                    .snapshotRequest(name + "-n", volume.getVolumeId())
                    .putParameters("snapshotMode", "native")));
    driver.delete(copied.getVolumeId());
    driver.delete(restored.getVolumeId());
    driver.deleteSnapshot(snapshot.getSnapshotId());
    driver.delete(volume.getVolumeId());
  }

  @Test
  void eachSnapshotOfAGroupHasThePassphraseOfItsVolume() {
    Volume first = driver.create(name + "-1", 64 * MIB);
    Volume second = driver.create(name + "-2", 64 * MIB);
    Volume plain =
        driver.create(with(driver.createRequest(name + "-3", 64 * MIB), "encrypted", "false"));
    CLUSTER.rbd("image-meta", "set", "rbd/" + TestDriver.image(first), STATE, "encrypted");
    TestGroupSnapshots groups = new TestGroupSnapshots(driver);
    VolumeGroupSnapshot taken =
        groups.take(name, first.getVolumeId(), second.getVolumeId(), plain.getVolumeId());
    assertThat(groups.take(name, first.getVolumeId(), second.getVolumeId(), plain.getVolumeId()))
        .isEqualTo(taken);
    for (Snapshot snapshot : taken.getSnapshotsList()) {
      String image = TestDriver.image(snapshot);
      if (snapshot.getSourceVolumeId().equals(plain.getVolumeId())) {
        assertThat(entry("snap", snapshot.getSnapshotId()))
            .doesNotContainKey("csi.volume.encryptKMS");
        assertThat(CLUSTER.rbd("image-meta", "ls", "rbd/" + image)).doesNotContain(STATE);
        continue;
      }
      boolean ofFirst = snapshot.getSourceVolumeId().equals(first.getVolumeId());
      Volume source = ofFirst ? first : second;
      assertThat(passphrase(snapshot.getSnapshotId(), image))
          .isEqualTo(passphrase(source.getVolumeId(), TestDriver.image(source)));
      assertThat(meta(image, STATE)).isEqualTo(ofFirst ? "encrypted" : "encryptionPrepared");
      assertThat(entry("snap", snapshot.getSnapshotId()))
          .containsEntry("csi.volume.encryptKMS", "meta")
          .containsEntry("csi.volume.encryptionType", "block");
      Volume restored = driver.restore(name + "-r", 0, snapshot.getSnapshotId());
      assertThat(passphrase(restored.getVolumeId(), TestDriver.image(restored)))
          .isEqualTo(passphrase(source.getVolumeId(), TestDriver.image(source)));
      driver.delete(restored.getVolumeId());
    }
    groups.delete(taken);
    driver.delete(plain.getVolumeId());
    driver.delete(second.getVolumeId());
    driver.delete(first.getVolumeId());
  }

  @Test
  void aPlainVolumeIsNotCopiedIntoAnEncryptedOne() {
    CreateVolumeRequest.Builder plain =
        with(driver.createRequest(name, 64 * MIB), "encrypted", "false");
    Volume volume = driver.create(plain);
    refused(
        Code.INVALID_ARGUMENT,
        "not encrypted",
        driver.cloneRequest(name + "-c", 0, volume.getVolumeId()));
    driver.delete(volume.getVolumeId());
  }

  @Test
  void whatAnotherDriverDidNotCompleteIsCompleted() {
    Volume volume = driver.create(name, 64 * MIB);
    String image = "rbd/" + TestDriver.image(volume);
    CLUSTER.rbd("image-meta", "remove", image, STATE);
    CLUSTER.rbd("image-meta", "remove", image, DEK);
    assertThat(driver.create(name, 64 * MIB)).isEqualTo(volume);
    assertThat(meta(TestDriver.image(volume), STATE)).isEqualTo("encryptionPrepared");
    String source = passphrase(volume.getVolumeId(), TestDriver.image(volume));

    Volume copy = driver.copy(name + "-c", 0, volume.getVolumeId());
    CLUSTER.rbd(
        "image-meta",
        "set",
        "rbd/" + TestDriver.image(copy),
        DEK,
        meta(TestDriver.image(volume), DEK)); // as it is inherited
    assertThat(driver.copy(name + "-c", 0, volume.getVolumeId())).isEqualTo(copy);
    assertThat(passphrase(copy.getVolumeId(), TestDriver.image(copy))).isEqualTo(source);

    CLUSTER.rbd("image-meta", "set", image, STATE, "encrypted");
    CLUSTER.rbd("image-meta", "remove", image, DEK);
    assertStatus(Code.FAILED_PRECONDITION, "no passphrase", () -> driver.create(name, 64 * MIB));
    driver.delete(copy.getVolumeId());
    driver.delete(volume.getVolumeId());
  }

  /** Who has changed the Secret can put it right; who has overwritten the passphrase cannot. */
  @Test
  void aPassphraseThatCannotBeReadIsNotReplaced() {
    CreateVolumeRequest.Builder request =
        driver.createRequest(name, 64 * MIB).removeParameters("encryptionKMSID");
    Volume volume = driver.create(request);
    CreateVolumeRequest.Builder clone = driver.cloneRequest(name + "-c", 0, volume.getVolumeId());
    Volume copy = driver.create(clone);
    String dek = meta(TestDriver.image(copy), DEK);
    refused(
        Code.FAILED_PRECONDITION,
        "another",
        clone.clone().putSecrets("encryptionPassphrase", "changed"));
    assertThat(meta(TestDriver.image(copy), DEK)).isEqualTo(dek);
    assertThat(driver.create(clone)).isEqualTo(copy);
    driver.delete(copy.getVolumeId());
    driver.delete(volume.getVolumeId());
  }

  @Test
  void theKeysOfOlderDriversGetTheirNewNames() {
    Volume volume = driver.create(name, 64 * MIB);
    String image = "rbd/" + TestDriver.image(volume);
    String dek = meta(TestDriver.image(volume), DEK);
    CLUSTER.rbd("image-meta", "set", image, "." + STATE, "encrypted");
    CLUSTER.rbd("image-meta", "set", image, "." + DEK, dek);
    CLUSTER.rbd("image-meta", "remove", image, STATE);
    CLUSTER.rbd("image-meta", "remove", image, DEK);
    Snapshot snapshot = driver.snapshot(name, volume.getVolumeId());
    assertThat(meta(TestDriver.image(snapshot), STATE)).isEqualTo("encrypted");
    assertThat(meta(TestDriver.image(volume), DEK)).isEqualTo(dek);
    assertThat(CLUSTER.rbd("image-meta", "ls", image)).doesNotContain(" ." + STATE);
    driver.deleteSnapshot(snapshot.getSnapshotId());
    driver.delete(volume.getVolumeId());
  }

  /** The parts of a driver whose only KMS is a store. */
  private record Parts(
      ConnectionPool connections,
      ClusterExecutors executors,
      RbdSessions sessions,
      StoringKms store)
      implements AutoCloseable {
    static Parts start() throws IOException {
      StoringKms store = new StoringKms();
      ClusterDirectory clusters =
          new ClusterDirectory(
              TestDriver.clustersFile(CLUSTER, Files.createTempDirectory("clusters")));
      Duration patience = Duration.ofSeconds(10);
      RbdSettings settings =
          new RbdSettings("default", CloneLimits.DEFAULT, ImageLabels.NONE, id -> store);
      ConnectionPool connections = new ConnectionPool(patience, patience);
      ClusterExecutors executors = new ClusterExecutors(clusters, 1, 1);
      RbdSessions sessions =
          new RbdSessions(
              clusters, connections, executors, new OperationRegistry(patience), settings);
      return new Parts(connections, executors, sessions, store);
    }

    RbdVolumes volumes() {
      return new RbdVolumes(sessions, new StaleGroupMembers());
    }

    @Override
    public void close() {
      sessions.close();
      executors.close();
      connections.close();
    }
  }

  @Test
  void aKmsThatKeepsPassphrasesLosesThemWithTheVolumeAndNotBefore() throws IOException {
    try (Parts parts = Parts.start()) {
      StoringKms store = parts.store();
      RbdVolumes volumes = parts.volumes();
      RbdSnapshots snapshots = new RbdSnapshots(parts.sessions());
      Credentials user = Storage.RBD.credentials(driver.secrets());
      VolumeId volume = volumes.create(request(name, Optional.empty()), user).id();
      String passphrase = store.kept().get(volume.toString());
      assertThat(passphrase).isNotNull();
      VolumeId snapshot =
          snapshots.create(name, volume, SnapshotParameters.parse(Map.of()), user).id();
      VolumeId restored =
          volumes
              .create(
                  request(name + "-r", Optional.of(new ContentSource.OfSnapshot(snapshot))), user)
              .id();
      assertThat(store.kept())
          .containsOnly(
              Map.entry(volume.toString(), passphrase),
              Map.entry(snapshot.toString(), passphrase),
              Map.entry(restored.toString(), passphrase));
      store.down(true);
      assertThatThrownBy(() -> volumes.create(request(name + "-x", Optional.empty()), user))
          .hasMessageContaining("KMS store is down");
      assertThatThrownBy(() -> volumes.delete(restored, user))
          .hasMessageContaining("KMS store is down");
      assertThat(entry("volume", restored.toString())).isNotEmpty();
      Awaitility.await() // only the entry waits for the KMS
          .atMost(Duration.ofMinutes(1))
          .untilAsserted(() -> assertThat(trash()).doesNotContain(restored.uuid().toString()));
      assertThatThrownBy(() -> snapshots.delete(snapshot, user))
          .hasMessageContaining("KMS store is down");
      assertThat(entry("snap", snapshot.toString())).isNotEmpty();
      Awaitility.await()
          .atMost(Duration.ofMinutes(1))
          .untilAsserted(() -> assertThat(trash()).doesNotContain(snapshot.uuid().toString()));
      store.down(false);
      volumes.delete(restored, user);
      assertThat(entry("volume", restored.toString())).isEmpty();
      snapshots.delete(snapshot, user);
      assertThat(entry("snap", snapshot.toString())).isEmpty();
      volumes.delete(volume, user);
      assertThat(store.kept()).isEmpty();
      assertThat(POOL.keys("csi.volumes.default")).noneMatch(key -> key.contains(name));
    }
  }

  private static String trash() {
    return CLUSTER.rbd("trash", "ls", "--all", "rbd");
  }

  /** Each call but the last stores a passphrase and fails then; the volume's is changed between. */
  @Test
  void aGroupSnapshotThatIsCutOffHasThePassphraseOfItsTime() throws IOException {
    try (Parts parts = Parts.start()) {
      StoringKms store = parts.store();
      RbdVolumes volumes = parts.volumes();
      RbdGroupSnapshots groups = new RbdGroupSnapshots(parts.sessions());
      Credentials user = Storage.RBD.credentials(driver.secrets());
      VolumeId volume = volumes.create(request(name, Optional.empty()), user).id();
      SnapshotParameters parameters =
          SnapshotParameters.parse(Map.of("clusterID", TestDriver.CLUSTER_ID));
      for (int i = 0; i < 2; i++) {
        store.die(true);
        assertThatThrownBy(() -> groups.create(name, Set.of(volume), parameters, user))
            .hasMessageContaining("KMS store is down");
        store.die(false);
        store.down(false);
        store.kept().put(volume.toString(), "changed-" + i);
      }
      GroupSnapshot taken =
          Awaitility.await()
              .ignoreExceptionsMatching(
                  e -> e instanceof VolumeException v && v.reason() == Reason.ABORTED)
              .until(() -> groups.create(name, Set.of(volume), parameters, user), Objects::nonNull);
      VolumeId snapshot = taken.snapshots().get(0).id();
      assertThat(store.kept())
          .containsOnly(
              Map.entry(volume.toString(), "changed-1"),
              Map.entry(snapshot.toString(), "changed-1"));
      store.down(true);
      assertThatThrownBy(() -> groups.delete(taken.id(), Set.of(snapshot.toString()), user))
          .hasMessageContaining("KMS store is down");
      assertThat(entry("snap", snapshot.toString())).isNotEmpty();
      store.down(false);
      groups.delete(taken.id(), Set.of(snapshot.toString()), user);
      volumes.delete(volume, user);
      assertThat(store.kept()).isEmpty();
    }
  }

  private static VolumeRequest request(
      String name, Optional<ContentSource> source, String... more) {
    Map<String, String> parameters = new HashMap<>(driver.parameters());
    for (int i = 0; i < more.length; i += 2) {
      parameters.put(more[i], more[i + 1]);
    }
    return new VolumeRequest(
        name, RbdParameters.parse(parameters), new CapacityRange(64 * MIB, 0), source);
  }

  /** Who writes to the pool names his own tenant in the journal, whose passphrases he knows. */
  @Test
  void aCopyTakesNoPassphraseOfAnotherTenant() throws IOException {
    try (Parts parts = Parts.start()) {
      parts.store().byTenant(true);
      RbdVolumes volumes = parts.volumes();
      RbdSnapshots snapshots = new RbdSnapshots(parts.sessions());
      Credentials user = Storage.RBD.credentials(driver.secrets());
      String[] shop = {"csi.storage.k8s.io/pvc/namespace", "shop"};
      VolumeId volume = volumes.create(request(name, Optional.empty(), shop), user).id();
      VolumeId snapshot =
          snapshots.create(name, volume, SnapshotParameters.parse(Map.of()), user).id();
      for (ContentSource source :
          List.of(new ContentSource.OfSnapshot(snapshot), new ContentSource.OfVolume(volume))) {
        boolean ofSnapshot = source instanceof ContentSource.OfSnapshot;
        String entry = (ofSnapshot ? "csi.snap." : "csi.volume.") + source.id().uuid();
        Optional<ContentSource> from = Optional.of(source);
        VolumeId own = volumes.create(request(name + "-o", from, shop), user).id();
        volumes.delete(own, user);
        CLUSTER.rados("-p", "rbd", "setomapval", entry, "csi.volume.owner", "evil");
        assertThatThrownBy(() -> volumes.create(request(name + "-r", from, shop), user))
            .isInstanceOfSatisfying(
                VolumeException.class,
                e -> assertThat(e.reason()).isEqualTo(Reason.FAILED_PRECONDITION))
            .hasMessageContaining("tenant \"evil\"")
            .hasMessageContaining("of \"shop\"");
        assertThat(POOL.keys("csi.volumes.default")).noneMatch(key -> key.contains(name + "-r"));
        VolumeId meant =
            volumes
                .create(
                    request(name + "-r", from, shop[0], shop[1], "encryptionSourceTenants", "evil"),
                    user)
                .id();
        volumes.delete(meant, user);
        CLUSTER.rados("-p", "rbd", "setomapval", entry, "csi.volume.owner", "shop");
      }
      snapshots.delete(snapshot, user);
      volumes.delete(volume, user);
      assertThat(parts.store().kept()).isEmpty();
    }
  }

  @Test
  void aVolumeWhoseImageWasReplacedIsSnapshotted() {
    Volume volume = driver.create(name, 64 * MIB);
    String image = "rbd/" + TestDriver.image(volume);
    String before = passphrase(volume.getVolumeId(), TestDriver.image(volume));
    CLUSTER.rbd("migration", "prepare", image);
    CLUSTER.rbd("migration", "execute", "--no-progress", image);
    CLUSTER.rbd("migration", "commit", "--no-progress", image);
    Snapshot snapshot = driver.snapshot(name, volume.getVolumeId());
    assertThat(passphrase(snapshot.getSnapshotId(), TestDriver.image(snapshot))).isEqualTo(before);
    driver.deleteSnapshot(snapshot.getSnapshotId());
    driver.delete(volume.getVolumeId());
  }
}
