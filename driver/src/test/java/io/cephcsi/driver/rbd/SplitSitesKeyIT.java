package io.cephcsi.driver.rbd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.MirrorSite;
import io.cephcsi.bindings.rbd.MirrorStatus;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.app.DriverConfig;
import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.ConnectionPool;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.operation.OperationRegistry;
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
import io.cephcsi.driver.testing.StoringKms;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.testing.LocalCluster;
import io.cephcsi.testing.MirroredClusters;
import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Encrypted volumes of two sites with one KMS, after one of the sites has ended the mirroring and
 * deletes the volume.
 */
@EnabledIf("io.cephcsi.testing.TestCluster#canControl")
class SplitSitesKeyIT {
  private static final StoringKms STORE = new StoringKms();
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final ReplicationParameters USUAL = ReplicationParameters.parse(Map.of());
  private static final ReplicationParameters FORCED =
      ReplicationParameters.parse(Map.of("force", "true"));

  private static MirroredClusters clusters;
  private static Site first;
  private static Site second;

  /** A cluster, and what a driver of it does. */
  private record Site(
      TestCluster ceph,
      RadosCluster connection,
      IoContext io,
      ConnectionPool connections,
      ClusterExecutors executors,
      RbdSessions sessions,
      RbdVolumes volumes,
      RbdReplication replication,
      Credentials user) {
    static Site of(TestCluster ceph) throws IOException {
      RadosCluster connection = ceph.connect();
      ClusterDirectory directory =
          new ClusterDirectory(TestDriver.clustersFile(ceph, Files.createTempDirectory("site")));
      ConnectionPool connections = new ConnectionPool(PATIENCE, PATIENCE);
      ClusterExecutors executors = new ClusterExecutors(directory, 1, 1);
      RbdSessions sessions =
          new RbdSessions(
              directory,
              connections,
              executors,
              new OperationRegistry(PATIENCE),
              new RbdSettings("default", CloneLimits.DEFAULT, ImageLabels.NONE, id -> STORE));
      return new Site(
          ceph,
          connection,
          connection.openPool(ceph.pool()),
          connections,
          executors,
          sessions,
          new RbdVolumes(sessions, new StaleGroupMembers()),
          new RbdReplication(sessions, Duration.ofMinutes(2), Duration.ofSeconds(90)),
          Storage.RBD.credentials(TestDriver.secrets(ceph, DriverConfig.Type.RBD)));
    }

    void delete(VolumeId id) {
      volumes.delete(id, user);
    }

    boolean has(VolumeId id) {
      return ImageId.find(new RbdPool(io), image(id)).isPresent();
    }

    /** Whether what an entry is made from is there; it is copied after the image. */
    boolean hasRecord(VolumeId id) {
      try (RbdImage open = new RbdPool(io).openReadOnly(image(id))) {
        return open.metadata().get("csi.java.journalentry").isPresent();
      }
    }

    MirrorStatus status(VolumeId id) {
      try (RbdImage open = new RbdPool(io).openReadOnly(image(id))) {
        return open.mirror().status();
      }
    }

    void close() {
      sessions.close();
      executors.close();
      connections.close();
      io.close();
      connection.close();
    }
  }

  @BeforeAll
  static void start() throws IOException {
    clusters = MirroredClusters.start("split");
    first = Site.of(clusters.first());
    second = Site.of(clusters.second());
  }

  @AfterAll
  static void stop() {
    first.close();
    second.close();
    clusters.close();
  }

  @BeforeEach
  void joinAgain() {
    clusters.join();
  }

  private static String image(VolumeId id) {
    return "csi-vol-" + id.uuid();
  }

  private static void soon(Callable<Boolean> condition) {
    await()
        .atMost(Duration.ofMinutes(3))
        .pollInterval(Duration.ofMillis(500))
        .ignoreExceptionsInstanceOf(CephException.NotFound.class)
        .until(condition);
  }

  private static boolean replays(MirrorSite site) {
    return site.isUp(MirrorSite.State.REPLAYING);
  }

  private static void awaitOthers(Site site, VolumeId id, Predicate<MirrorSite> state) {
    soon(
        () -> {
          var others = site.status(id).remote();
          return !others.isEmpty() && others.stream().allMatch(state);
        });
  }

  private static VolumeId mirrored() {
    Map<String, String> parameters =
        Map.of(
            "clusterID",
            TestDriver.CLUSTER_ID,
            "pool",
            first.ceph().pool(),
            "encrypted",
            "true",
            "encryptionKMSID",
            "store");
    VolumeId id =
        first
            .volumes()
            .create(
                new VolumeRequest(
                    "split-" + UUID.randomUUID(),
                    RbdParameters.parse(parameters),
                    new CapacityRange(32 << 20, 0),
                    Optional.empty()),
                first.user())
            .id();
    first.replication().enable(id, USUAL, first.user());
    awaitOthers(first, id, SplitSitesKeyIT::replays);
    soon(() -> second.hasRecord(id));
    return id;
  }

  @Test
  void itGoesWithTheVolumeWhoseCopyFollowed() {
    VolumeId id = mirrored();
    first.replication().disable(id, USUAL, first.user());
    first.delete(id);
    assertThat(STORE.kept()).doesNotContainKey(id.toString());
    soon(() -> !second.has(id));
  }

  /**
   * The first site was lost, and believes that it is the primary when it is back.
   *
   * @param byHand whether a person moves the old image to the trash there, which ends its mirroring
   */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void itStaysForASiteThatWasPromotedByForce(boolean byHand) {
    VolumeId id = mirrored();
    String passphrase = STORE.kept().get(id.toString());
    clusters.cut();
    awaitOthers(first, id, site -> !site.up());
    second.replication().promote(id, true, USUAL, second.user());
    if (byHand) {
      first.ceph().rbd("trash", "mv", first.ceph().pool() + "/" + image(id));
    } else {
      first.replication().disable(id, USUAL, first.user());
    }
    first.delete(id);
    assertThat(first.has(id)).isFalse();
    assertThat(STORE.kept()).containsEntry(id.toString(), passphrase);
    second.replication().disable(id, FORCED, second.user());
    second.delete(id);
    assertThat(STORE.kept()).as("what an operator removes").containsKey(id.toString());
  }

  @Test
  void itStaysForThePrimaryOfACopyThatWasTakenOut() {
    VolumeId id = mirrored();
    String passphrase = STORE.kept().get(id.toString());
    clusters.second().kill(LocalCluster.MIRROR_DAEMON);
    soon(() -> second.status(id).local().filter(MirrorSite::up).isEmpty());
    second.replication().disable(id, FORCED, second.user());
    second.delete(id);
    assertThat(second.has(id)).isFalse();
    assertThat(first.has(id)).isTrue();
    assertThat(STORE.kept()).containsEntry(id.toString(), passphrase);
    first.replication().disable(id, USUAL, first.user());
    first.delete(id);
  }
}
