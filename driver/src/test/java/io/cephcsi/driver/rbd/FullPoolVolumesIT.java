package io.cephcsi.driver.rbd;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.cluster.MonitorQueries;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.ControllerPublishVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerUnpublishVolumeRequest;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.LocalCluster;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import java.time.Duration;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;

/** A pool at its quota, where writes wait by default: what gives space back must not. */
@EnabledIf("io.cephcsi.testing.TestCluster#canControl")
class FullPoolVolumesIT {
  private static final long MIB = 1L << 20;

  private static LocalCluster ceph;
  private static TestDriver driver;
  private static RadosCluster cluster;

  @BeforeAll
  static void start() {
    ceph = TestCluster.start("full-volumes");
    driver = TestDriver.rbd(ceph).withCredentials().start();
    cluster = ceph.connect();
  }

  @AfterAll
  static void stop() {
    driver.close();
    cluster.close();
    ceph.close();
  }

  private static void quota(long bytes, boolean full) {
    ceph.ceph("osd", "pool", "set-quota", ceph.pool(), "max_bytes", Long.toString(bytes));
    Awaitility.await()
        .atMost(Duration.ofMinutes(1))
        .until(
            () ->
                MonitorQueries.pools(cluster).stream()
                    .anyMatch(pool -> pool.name().equals(ceph.pool()) && pool.full() == full));
  }

  private static Set<String> filling() {
    return IntStream.range(0, 8).mapToObj(i -> "filling-" + i).collect(Collectors.toSet());
  }

  private static void fill() {
    try (IoContext io = cluster.openPool(ceph.pool())) {
      filling().forEach(object -> io.writeFull(object, new byte[(int) MIB]));
    }
    quota(1_000_000, true);
  }

  @Test
  void whatIsThereIsServedAndDeletedAndWhatNeedsSpaceFailsAtOnce() {
    PoolState pool = new PoolState(ceph, ceph.pool());
    driver.delete(driver.create("pvc-first", MIB).getVolumeId()); // a pool that is used
    Volume volume = driver.create("pvc-used", 16 * MIB);
    Volume other = driver.create("pvc-snapped", 16 * MIB);
    Snapshot snapshot = driver.snapshot("snap", other.getVolumeId());
    Awaitility.await().atMost(Duration.ofMinutes(1)).until(() -> pool.trash().isEmpty());
    fill();

    assertStatus(Code.RESOURCE_EXHAUSTED, () -> driver.create("pvc-too-many", MIB));
    driver
        .controller()
        .controllerPublishVolume(
            ControllerPublishVolumeRequest.newBuilder()
                .setVolumeId(volume.getVolumeId())
                .setNodeId(TestDriver.NODE_ID)
                .setVolumeCapability(TestDriver.singleWriter())
                .putAllSecrets(driver.secrets())
                .build());
    driver
        .controller()
        .controllerUnpublishVolume(
            ControllerUnpublishVolumeRequest.newBuilder()
                .setVolumeId(volume.getVolumeId())
                .setNodeId(TestDriver.NODE_ID)
                .putAllSecrets(driver.secrets())
                .build());
    driver.delete(volume.getVolumeId());
    driver.deleteSnapshot(snapshot.getSnapshotId());
    driver.delete(other.getVolumeId());
    Awaitility.await("until nothing is in the trash")
        .atMost(Duration.ofMinutes(1))
        .untilAsserted(() -> assertThat(pool.trash()).isEmpty());
    assertThat(pool.images()).isEmpty();

    quota(0, false);
    driver.delete(driver.create("pvc-too-many", MIB).getVolumeId());
    pool.awaitNothingBut(filling());
  }
}
