package io.cephcsi.driver.rbd;

import static io.cephcsi.driver.testing.Statuses.untilNotAborted;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.rbd.parameters.CloneLimits;
import io.cephcsi.driver.testing.ImageContent;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.CreateSnapshotRequest;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.DeleteSnapshotRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeRequest;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.TestCluster;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * A user who may not command the manager, as if its module rbd_support were not there: the driver
 * flattens and empties the trash itself.
 */
class WithoutManagerIT {
  private static final long MIB = 1L << 20;
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final PoolState POOL = new PoolState(CLUSTER, "rbd");
  private static final ImageContent CONTENT = new ImageContent(CLUSTER);
  private static Map<String, String> secrets = Map.of();

  @BeforeAll
  static void awaitEmptyTrash() {
    try (TestDriver driver =
        TestDriver.rbd(CLUSTER).start()) { // finds what classes before left to a start
      Volume volume = driver.create("pvc-" + UUID.randomUUID(), 16 * MIB);
      driver.delete(volume.getVolumeId());
      Awaitility.await()
          .atMost(PoolState.MANAGER_TIME)
          .untilAsserted(
              () -> {
                assertThat(POOL.trash()).doesNotContain(TestDriver.image(volume));
                assertNoTaskWasMade();
              });
    }
  }

  @BeforeAll
  static void makeUser() {
    String user = "no-manager";
    CLUSTER.ceph(
        "auth", "get-or-create", "client." + user, "mon", "profile rbd", "osd", "profile rbd");
    String key = CLUSTER.ceph("auth", "print-key", "client." + user).strip();
    secrets = Map.of("userID", user, "userKey", key);
  }

  @AfterAll
  static void removeUser() {
    CLUSTER.ceph("auth", "rm", "client.no-manager");
  }

  private static Volume create(TestDriver driver, CreateVolumeRequest.Builder request) {
    return driver.controller().createVolume(request.putAllSecrets(secrets).build()).getVolume();
  }

  private static Snapshot snapshot(TestDriver driver, CreateSnapshotRequest.Builder request) {
    return driver.controller().createSnapshot(request.putAllSecrets(secrets).build()).getSnapshot();
  }

  private static void delete(TestDriver driver, Volume volume) {
    assertThat(
            driver
                .controller()
                .deleteVolume(
                    DeleteVolumeRequest.newBuilder()
                        .setVolumeId(volume.getVolumeId())
                        .putAllSecrets(secrets)
                        .build()))
        .isNotNull();
  }

  private static boolean hasParent(Volume volume) {
    return POOL.info(TestDriver.image(volume)).has("parent");
  }

  private static void assertOnlyLeft(Set<String> before) {
    Awaitility.await()
        .atMost(PoolState.MANAGER_TIME)
        .pollInterval(Duration.ofSeconds(1))
        .untilAsserted(() -> assertThat(POOL.left(before)).isEmpty());
  }

  private static void assertNoTaskWasMade() {
    assertThat(CLUSTER.ceph("rbd", "task", "list", "--format", "json").strip()).isEqualTo("[]");
  }

  @Test
  void theTrashIsEmptiedInTheOrderOfAncestors() {
    Set<String> before = POOL.everything();
    String name = "pvc-" + UUID.randomUUID();
    try (TestDriver driver = TestDriver.rbd(CLUSTER).start()) {
      Volume volume = create(driver, driver.createRequest(name, 16 * MIB));
      CONTENT.write("rbd/" + TestDriver.image(volume), 3);
      Snapshot snapshot = snapshot(driver, driver.snapshotRequest(name, volume.getVolumeId()));
      Volume restored =
          create(driver, driver.restoreRequest(name + "-r", 0, snapshot.getSnapshotId()));
      Volume copied = create(driver, driver.cloneRequest(name + "-c", 0, restored.getVolumeId()));
      delete(driver, volume);
      assertThat(
              driver
                  .controller()
                  .deleteSnapshot(
                      DeleteSnapshotRequest.newBuilder()
                          .setSnapshotId(snapshot.getSnapshotId())
                          .putAllSecrets(secrets)
                          .build()))
          .isNotNull();
      delete(driver, restored);
      delete(driver, copied);
      assertOnlyLeft(before);
      assertNoTaskWasMade();
    }
  }

  @Test
  void chainsAreFlattened() {
    Set<String> before = POOL.everything();
    String name = "pvc-" + UUID.randomUUID();
    List<Volume> chain = new ArrayList<>();
    CloneLimits limits = new CloneLimits(4, 2, 450, 250);
    try (TestDriver driver = TestDriver.rbd(CLUSTER).cloneLimits(limits).start()) {
      chain.add(create(driver, driver.createRequest(name, 16 * MIB)));
      CONTENT.write("rbd/" + TestDriver.image(chain.get(0)), 4);
      int content = CONTENT.checksum("rbd/" + TestDriver.image(chain.get(0)));
      for (int i = 1; i <= 5; i++) {
        Volume last = chain.get(chain.size() - 1);
        String next = name + "-" + i;
        chain.add(
            untilNotAborted(
                Duration.ofSeconds(60),
                () -> create(driver, driver.cloneRequest(next, 0, last.getVolumeId()))));
      }
      assertNoTaskWasMade();
      Volume last = chain.get(chain.size() - 1);
      assertThat(CONTENT.checksum("rbd/" + TestDriver.image(last))).isEqualTo(content);
      assertThat(chain.subList(1, chain.size()))
          .as("at least one was cut off its ancestors")
          .anyMatch(v -> !isDeep(v));
      chain.forEach(volume -> delete(driver, volume));
      assertOnlyLeft(before);
    }
  }

  /** Whether neither a clone nor the image between it and its source was flattened. */
  private static boolean isDeep(Volume volume) {
    return hasParent(volume) && POOL.info(TestDriver.image(volume) + "-temp").has("parent");
  }
}
