package io.cephcsi.driver.csiaddons;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.MirrorSite;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.testing.MirrorDaemon;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.testing.TestReplication;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.MirroredClusters;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;

/**
 * A forced promotion while the daemon of this site does not give the image away, as when it waits
 * for the other cluster. librbd waits for the daemon without end; ceph-csi's issue 2736.
 */
@EnabledIf("io.cephcsi.testing.TestCluster#canControl")
class HungPeerIT {
  private static final int OBJECT = 4 << 20;
  private static final int OBJECTS = 32;
  private static final long SIZE = (long) OBJECTS * OBJECT;
  private static final Duration TIMEOUT =
      Duration.ofSeconds(8); // the promotion has four times that
  private static final Duration LONGEST = Duration.ofMinutes(2);

  @Test
  void aForcedPromotionDoesNotHangForEver() {
    try (MirroredClusters clusters = MirroredClusters.start("hung");
        TestDriver there = TestDriver.rbd(clusters.first()).start();
        TestDriver here =
            TestDriver.rbd(clusters.second()).controllerOnly(false).timeout(TIMEOUT).start();
        RadosCluster cluster = clusters.second().connect();
        IoContext io = cluster.openPool(clusters.second().pool())) {
      Volume volume = there.create("volume-" + UUID.randomUUID(), SIZE);
      String id = volume.getVolumeId();
      TestReplication.of(there).enable(id, Map.of());
      RbdPool pool = new RbdPool(io);
      String image = TestDriver.image(volume);
      await()
          .atMost(LONGEST)
          .ignoreExceptionsInstanceOf(CephException.NotFound.class)
          .until(() -> replays(pool, image));
      String entry = "csi.volume." + VolumeId.parse(id).orElseThrow().uuid();
      Map<String, String> keys = new Omaps(clusters.first(), "rbd", "").of(entry);
      new Omaps(clusters.second(), "rbd", "").put(Map.of(entry, keys));

      writeAll(clusters.first(), image);
      String imageId = ImageId.find(pool, image).orElseThrow();
      await()
          .atMost(LONGEST)
          .ignoreExceptionsInstanceOf(CephException.NotFound.class)
          .until(() -> isCopied(pool, image) && !isBeingCopied(io, imageId));
      clusters.cut();
      await().atMost(LONGEST).until(() -> watchers(pool, image) == 0);
      TestReplication replication = TestReplication.of(here);
      try (MirrorDaemon daemon = new MirrorDaemon(clusters.second(), io.pool(), image)) {
        assertStatus(Code.DEADLINE_EXCEEDED, () -> replication.promote(id, true));
        assertStatus(Code.ABORTED, "pending", () -> replication.promote(id, true));
        // The first call has ended when another one waits for as long.
        await()
            .atMost(LONGEST)
            .pollInterval(Duration.ofSeconds(1))
            .until(() -> code(replication, id) == Code.DEADLINE_EXCEEDED);
        assertThat(clusters.second().ceph("osd", "blocklist", "ls")).contains(":0/");
      }
      await()
          .atMost(LONGEST)
          .pollInterval(Duration.ofSeconds(1))
          .until(() -> code(replication, id) == Code.OK);
      try (RbdImage promoted = pool.openReadOnly(image)) {
        assertThat(promoted.mirroring().orElseThrow().primary()).isTrue();
        assertThat(written(promoted)).isEqualTo(OBJECTS);
      }
    }
  }

  private static void writeAll(TestCluster ceph, String name) {
    byte[] data = new byte[OBJECT];
    Arrays.fill(data, (byte) 1);
    try (RadosCluster cluster = ceph.connect();
        IoContext io = cluster.openPool(ceph.pool());
        RbdImage image = new RbdPool(io).open(name)) {
      for (int object = 0; object < OBJECTS; object++) {
        image.write((long) object * OBJECT, data);
      }
      image.flush();
      assertThat(image.mirror().createSnapshot()).isPositive();
    }
  }

  private static int written(RbdImage image) {
    int count = 0;
    for (int object = 0; object < OBJECTS; object++) {
      count += image.read((long) object * OBJECT, 1)[0];
    }
    return count;
  }

  private static boolean isBeingCopied(IoContext io, String imageId) {
    List<Long> ids = ImageHeader.read(io, imageId).orElseThrow().snapshotIds();
    return ImageHeader.snapshots(io, imageId, ids).stream()
        .anyMatch(snapshot -> snapshot.mirror().filter(mirror -> !mirror.complete()).isPresent());
  }

  private static boolean isCopied(RbdPool pool, String image) {
    try (RbdImage copy = pool.openReadOnly(image)) {
      return copy.read(SIZE - OBJECT, 1)[0] == 1;
    }
  }

  private static int watchers(RbdPool pool, String image) {
    try (RbdImage copy = pool.openReadOnly(image)) {
      return copy.watchers().size();
    }
  }

  private static boolean replays(RbdPool pool, String image) {
    try (RbdImage copy = pool.openReadOnly(image)) {
      return copy.mirror().status().local().stream()
          .anyMatch(site -> site.isUp(MirrorSite.State.REPLAYING));
    }
  }

  private static Code code(TestReplication replication, String id) {
    try {
      replication.promote(id, true);
      return Code.OK;
    } catch (StatusRuntimeException e) {
      assertThat(e.getStatus().getCode()).isIn(Code.DEADLINE_EXCEEDED, Code.ABORTED);
      return e.getStatus().getCode();
    }
  }
}
