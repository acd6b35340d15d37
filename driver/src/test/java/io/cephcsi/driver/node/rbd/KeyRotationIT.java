package io.cephcsi.driver.node.rbd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

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
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.kms.KeyOwner;
import io.cephcsi.driver.kms.KmsCatalog;
import io.cephcsi.driver.node.attach.Attachers;
import io.cephcsi.driver.node.attach.ImageSpec;
import io.cephcsi.driver.operation.NodeKeys;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.rbd.encryption.ImageKey;
import io.cephcsi.driver.rbd.group.StaleGroupMembers;
import io.cephcsi.driver.rbd.image.ImageLabels;
import io.cephcsi.driver.rbd.parameters.CloneLimits;
import io.cephcsi.driver.rbd.parameters.RbdParameters;
import io.cephcsi.driver.rbd.parameters.RbdSettings;
import io.cephcsi.driver.rbd.session.RbdSessions;
import io.cephcsi.driver.rbd.volume.RbdVolumes;
import io.cephcsi.driver.rbd.volume.VolumeRequest;
import io.cephcsi.driver.testing.StoringKms;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.testing.TestCluster;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Rotations beside calls of other volumes of the same image. */
@Timeout(120)
class KeyRotationIT {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  @TempDir private Path folder;
  private final StoringKms kms = new StoringKms();
  private final OperationRegistry operations = new OperationRegistry(PATIENCE);
  private volatile Runnable beforeKms = () -> {};
  private final Credentials user =
      Storage.RBD.credentials(TestDriver.secrets(CLUSTER, DriverConfig.Type.RBD));

  /** What a test does with the sessions of a driver whose only KMS is a store. */
  private interface Work {
    void with(RbdSessions sessions, RbdVolumes volumes);
  }

  private void run(Work work) throws Exception {
    ClusterDirectory clusters =
        new ClusterDirectory(
            TestDriver.clustersFile(CLUSTER, Files.createDirectory(folder.resolve("clusters"))));
    KmsCatalog catalog =
        id -> {
          beforeKms.run();
          return kms;
        };
    RbdSettings settings =
        new RbdSettings("default", CloneLimits.DEFAULT, ImageLabels.NONE, catalog);
    try (ConnectionPool connections = new ConnectionPool(PATIENCE, PATIENCE);
        ClusterExecutors executors = new ClusterExecutors(clusters, 1, 1);
        RbdSessions sessions =
            new RbdSessions(clusters, connections, executors, operations, settings)) {
      work.with(sessions, new RbdVolumes(sessions, new StaleGroupMembers()));
    }
  }

  @Test
  void theDeviceOfAnImageThatACallWorksOnIsNotLookedFor() throws Exception {
    run(
        (sessions, volumes) -> {
          VolumeId id = volumes.create(request(), user).id();
          String image = "csi-vol-" + id.uuid();
          markEncrypted(id, image);
          KeyRotation rotation = new KeyRotation(sessions, new Attachers(List.of()), folder);
          String key = NodeKeys.image(new ImageSpec(CLUSTER.pool(), "", image).toString());
          try (OperationRegistry.Hold alone = operations.hold(key, "NodeUnstageVolume")) {
            assertThatThrownBy(() -> rotate(rotation, id))
                .cause()
                .isInstanceOfSatisfying(
                    VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.ABORTED))
                .hasMessageContaining("NodeUnstageVolume of " + key);
          }
          assertThatThrownBy(() -> rotate(rotation, id))
              .isInstanceOf(CompletionException.class)
              .hasMessageContaining("is not staged on this node");
          operations.hold(key, "NodeStageVolume").close(); // a rotation that failed holds nothing
          volumes.delete(id, user);
        });
  }

  /** A controller writes the note, and disables the mirroring then, after the entry was read. */
  @Test
  void aNoteThatIsWrittenDuringTheCallIsSeen() throws Exception {
    run(
        (sessions, volumes) -> {
          VolumeId id = volumes.create(request(), user).id();
          markEncrypted(id, "csi-vol-" + id.uuid());
          String entry = "csi.volume." + id.uuid();
          String now = "2026-11-29T00:00:00Z";
          beforeKms =
              () ->
                  CLUSTER.rados(
                      "-p", CLUSTER.pool(), "setomapval", entry, JournalEntry.KEY_SHARED, now);
          KeyRotation rotation = new KeyRotation(sessions, new Attachers(List.of()), folder);
          assertThatThrownBy(() -> rotate(rotation, id))
              .cause()
              .isInstanceOfSatisfying(
                  VolumeException.class,
                  e -> assertThat(e.reason()).isEqualTo(Reason.FAILED_PRECONDITION))
              .hasMessageContaining("was mirrored until another site may have been promoted");
          CLUSTER.rados("-p", CLUSTER.pool(), "rmomapkey", entry, JournalEntry.KEY_SHARED);
          volumes.delete(id, user);
          assertThat(kms.kept()).as("a deletion sees it, too").containsKey(id.toString());
        });
  }

  private static VolumeRequest request() {
    Map<String, String> parameters =
        Map.of(
            "clusterID",
            TestDriver.CLUSTER_ID,
            "pool",
            CLUSTER.pool(),
            "encrypted",
            "true",
            "encryptionKMSID",
            "store");
    return new VolumeRequest(
        "rotation-" + UUID.randomUUID(),
        RbdParameters.parse(parameters),
        new CapacityRange(32 << 20, 0),
        Optional.empty());
  }

  /** As the first staging does. */
  private void markEncrypted(VolumeId id, String image) {
    try (RadosCluster connection = CLUSTER.connect();
        IoContext io = connection.openPool(CLUSTER.pool())) {
      RbdPool pool = new RbdPool(io);
      KeyOwner owner = new KeyOwner(id.toString(), Optional.empty(), Map.of());
      new ImageKey(pool, ImageId.find(pool, image).orElseThrow(), kms, owner).markEncrypted();
    }
  }

  private void rotate(KeyRotation rotation, VolumeId id) {
    operations
        .start(
            NodeKeys.volume(id.toString()),
            "EncryptionKeyRotate",
            Runnable::run,
            operation -> {
              rotation.rotate(id, user, operation);
              return true;
            })
        .join();
  }
}
