package io.cephcsi.driver.rbd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.cls.HeaderAttribute;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.app.DriverConfig;
import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.ConnectionPool;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.kms.KeyOwner;
import io.cephcsi.driver.node.attach.Attachers;
import io.cephcsi.driver.node.rbd.KeyRotation;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.rbd.encryption.ImageKey;
import io.cephcsi.driver.rbd.group.StaleGroupMembers;
import io.cephcsi.driver.rbd.image.ImageLabels;
import io.cephcsi.driver.rbd.mirror.RbdReplication;
import io.cephcsi.driver.rbd.parameters.CloneLimits;
import io.cephcsi.driver.rbd.parameters.RbdParameters;
import io.cephcsi.driver.rbd.parameters.RbdSettings;
import io.cephcsi.driver.rbd.parameters.ReplicationParameters;
import io.cephcsi.driver.rbd.session.RbdSessions;
import io.cephcsi.driver.rbd.volume.RbdVolumes;
import io.cephcsi.driver.rbd.volume.VolumeRequest;
import io.cephcsi.driver.testing.MirrorDaemon;
import io.cephcsi.driver.testing.StoringKms;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A KMS has the passphrase of a volume once for all sites that mirror it. */
class MirroredKeyIT {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final String POOL = "keys-" + UUID.randomUUID();

  private static final StoringKms STORE = new StoringKms();
  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final ReplicationParameters PARAMETERS = ReplicationParameters.parse(Map.of());

  private static RadosCluster connection;
  private static IoContext pool;
  private static ConnectionPool connections;
  private static ClusterExecutors executors;
  private static RbdSessions sessions;
  private static RbdVolumes volumes;
  private static RbdReplication replication;
  private static Credentials user;

  @BeforeAll
  static void start() throws IOException {
    MirrorDaemon.makePool(CLUSTER, POOL);
    connection = CLUSTER.connect();
    pool = connection.openPool(POOL);
    ClusterDirectory clusters =
        new ClusterDirectory(
            TestDriver.clustersFile(CLUSTER, Files.createTempDirectory("clusters")));
    connections = new ConnectionPool(PATIENCE, PATIENCE);
    executors = new ClusterExecutors(clusters, 1, 1);
    sessions =
        new RbdSessions(
            clusters,
            connections,
            executors,
            new OperationRegistry(PATIENCE),
            new RbdSettings("default", CloneLimits.DEFAULT, ImageLabels.NONE, id -> STORE));
    volumes = new RbdVolumes(sessions, new StaleGroupMembers());
    replication = new RbdReplication(sessions, PATIENCE, PATIENCE);
    user = Storage.RBD.credentials(TestDriver.secrets(CLUSTER, DriverConfig.Type.RBD));
  }

  @AfterAll
  static void stop() {
    executors.close();
    connections.close();
    pool.close();
    connection.close();
    CLUSTER.ceph("osd", "pool", "rm", POOL, POOL, "--yes-i-really-really-mean-it");
  }

  private static VolumeId create() {
    Map<String, String> parameters =
        Map.of(
            "clusterID",
            TestDriver.CLUSTER_ID,
            "pool",
            POOL,
            "encrypted",
            "true",
            "encryptionKMSID",
            "store");
    VolumeId id =
        volumes
            .create(
                new VolumeRequest(
                    "key-" + UUID.randomUUID(),
                    RbdParameters.parse(parameters),
                    new CapacityRange(32 << 20, 0),
                    Optional.empty()),
                user)
            .id();
    assertThat(STORE.kept()).containsKey(id.toString());
    return id;
  }

  private static String image(VolumeId id) {
    return "csi-vol-" + id.uuid();
  }

  @Test
  void thatOfAVolumeThatIsNotMirroredGoesWithIt() {
    VolumeId id = create();
    volumes.delete(id, user);
    assertThat(STORE.kept()).doesNotContainKey(id.toString());
  }

  @Test
  void itStaysWhenTheImageWasTakenAwayHere() {
    VolumeId id = create();
    CLUSTER.rbd("rm", "--no-progress", POOL + "/" + image(id));
    volumes.delete(id, user);
    assertThat(STORE.kept()).containsKey(id.toString());
  }

  @Test
  void itStaysWhenAnotherSiteIsNotKnownToFollow() {
    VolumeId id = create();
    CLUSTER.rbd("mirror", "image", "enable", POOL + "/" + image(id), "snapshot");
    volumes.delete(id, user);
    assertThat(STORE.kept()).containsKey(id.toString());
  }

  /** The second image cannot be moved, so that the first call ends when the volume's own is. */
  @Test
  void itStaysWhenTheDeletionThatKeptItWasCutOffBehindTheTrash() {
    VolumeId id = create();
    String image = image(id);
    RbdPool images = new RbdPool(pool);
    CLUSTER.rbd("mirror", "image", "enable", POOL + "/" + image, "snapshot");
    String between = POOL + "/" + image + "-temp";
    CLUSTER.rbd("create", between, "--size", "8M");
    new HeaderAttribute("csi.java.between", image)
        .write(pool, ImageId.find(images, image + "-temp").orElseThrow());
    CLUSTER.rbd("mirror", "image", "enable", between, "snapshot");
    CLUSTER.rbd("mirror", "image", "demote", between);
    assertThatThrownBy(() -> volumes.delete(id, user)).hasMessageContaining("does not delete");
    assertThat(ImageId.find(images, image)).as("the image's name").isEmpty();
    CLUSTER.rbd("mirror", "image", "disable", "--force", between);
    volumes.delete(id, user);
    assertThat(ImageId.find(images, image + "-temp")).isEmpty();
    assertThat(CLUSTER.rados("-p", POOL, "ls")).doesNotContain("csi.volume." + id.uuid());
    assertThat(STORE.kept()).containsKey(id.toString());
  }

  @Test
  void aDeletionThatWasCutOffBehindTheTrashRemovesItLater() {
    VolumeId id = create();
    STORE.down(true);
    try {
      assertThatThrownBy(() -> volumes.delete(id, user)).hasMessageContaining("is down");
    } finally {
      STORE.down(false);
    }
    assertThat(ImageId.find(new RbdPool(pool), image(id))).as("the image's name").isEmpty();
    volumes.delete(id, user);
    assertThat(STORE.kept()).doesNotContainKey(id.toString());
  }

  @Test
  void itIsNotReplacedWhileACopyHasTheOldHeader(@TempDir Path folder) {
    VolumeId id = create();
    String image = image(id);
    String imageId = ImageId.find(new RbdPool(pool), image).orElseThrow();
    KeyOwner owner = new KeyOwner(id.toString(), Optional.empty(), Map.of());
    new ImageKey(new RbdPool(pool), imageId, STORE, owner).markEncrypted();
    String before = STORE.kept().get(id.toString());
    KeyRotation rotation = new KeyRotation(sessions, new Attachers(List.of()), folder);
    assertThatThrownBy(() -> rotate(rotation, id))
        .hasMessageContaining("is not staged on this node");
    CLUSTER.rbd("mirror", "image", "enable", POOL + "/" + image, "snapshot");
    assertThatThrownBy(() -> rotate(rotation, id)).hasMessageContaining("is mirrored");
    assertThat(STORE.kept()).containsEntry(id.toString(), before);
    CLUSTER.rbd("mirror", "image", "disable", POOL + "/" + image);
    assertThatThrownBy(() -> rotate(rotation, id))
        .hasMessageContaining("is not staged on this node");
    replication.enable(id, PARAMETERS, user);
    replication.disable(id, PARAMETERS, user);
    assertThatThrownBy(() -> rotate(rotation, id)).hasMessageContaining("was mirrored until");
    assertThat(STORE.kept()).containsEntry(id.toString(), before);
    volumes.delete(id, user);
  }

  /** No image tells then that it was mirrored. */
  @Test
  void itStaysWhenTheMirroringEndedBeforeAnotherSiteWasKnownToFollow() {
    VolumeId id = create();
    replication.enable(id, PARAMETERS, user);
    replication.disable(id, PARAMETERS, user);
    CLUSTER.rbd("mirror", "pool", "disable", POOL);
    try {
      volumes.delete(id, user);
    } finally {
      CLUSTER.rbd("mirror", "pool", "enable", POOL, "image");
    }
    assertThat(STORE.kept()).containsKey(id.toString());
  }

  private static void rotate(KeyRotation rotation, VolumeId id) {
    new OperationRegistry(PATIENCE)
        .start(
            id.toString(),
            "EncryptionKeyRotate",
            Runnable::run,
            operation -> {
              rotation.rotate(id, user, operation);
              return true;
            })
        .join();
  }
}
