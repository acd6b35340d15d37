package io.cephcsi.driver.rbd;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.cls.TrashMark;
import io.cephcsi.bindings.rados.ClassCall;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.bindings.rbd.MirrorMode;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.testing.MirrorDaemon;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.SilentOwner;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.ControllerPublishVolumeRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.UUID;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** Images that librbd moves to the trash after the call that deletes their volume was given up. */
class LateTrashMoveIT {
  private static final long MIB = 1L << 20;
  private static final Duration TIMEOUT = Duration.ofSeconds(3);
  private static final Duration SOON = Duration.ofSeconds(60);
  private static final TestCluster CLUSTER = TestCluster.shared();

  private static Volume locking(TestDriver driver, String pool) {
    return driver.create(
        driver
            .createRequest("pvc-" + UUID.randomUUID(), 16 * MIB)
            .putParameters("pool", pool)
            .putParameters("imageFeatures", "layering,exclusive-lock"));
  }

  private static void assertUnpublishable(TestDriver driver, String volumeId) {
    ControllerPublishVolumeRequest request =
        ControllerPublishVolumeRequest.newBuilder()
            .setVolumeId(volumeId)
            .setNodeId(TestDriver.NODE_ID)
            .setVolumeCapability(TestDriver.singleWriter())
            .putAllSecrets(driver.secrets())
            .build();
    assertStatus(
        Code.FAILED_PRECONDITION,
        "is being deleted",
        () -> driver.controller().controllerPublishVolume(request));
  }

  @Test
  void itsVolumeStaysMarkedThoughTheDeletionIsRepeated() {
    String pool = "mirrored-" + UUID.randomUUID();
    MirrorDaemon.makePool(CLUSTER, pool);
    try (TestDriver driver = TestDriver.rbd(CLUSTER).timeout(TIMEOUT).withCredentials().start()) {
      Volume volume = locking(driver, pool);
      String id = volume.getVolumeId();
      String imageId;
      try (RadosCluster cluster = CLUSTER.connect();
          IoContext io = cluster.openPool(pool);
          RbdImage image = new RbdPool(io).open(TestDriver.image(volume))) {
        image.mirror().enable(MirrorMode.SNAPSHOT);
        imageId = image.id();
      }
      try (SilentOwner owner = SilentOwner.daemon(CLUSTER, pool, imageId)) {
        for (int i = 0; i < 3; i++) {
          Awaitility.await() // the first call may be given up when its time is over
              .atMost(SOON)
              .untilAsserted(
                  () -> assertStatus(Code.ABORTED, "does not answer", () -> driver.delete(id)));
          assertUnpublishable(driver, id);
        }
      }
      Awaitility.await()
          .atMost(SOON)
          .ignoreExceptionsInstanceOf(StatusRuntimeException.class)
          .untilAsserted(() -> driver.delete(id));
      PoolState state = new PoolState(CLUSTER, pool);
      Awaitility.await()
          .atMost(PoolState.MANAGER_TIME)
          .untilAsserted(() -> assertThat(state.trash()).isEmpty());
      assertThat(state.images()).isEmpty();
    }
    CLUSTER.ceph("osd", "pool", "rm", pool, pool, "--yes-i-really-really-mean-it");
  }

  /** All that is known of the move of another process is its mark, and that the image is open. */
  @Test
  void itsVolumeStaysMarkedThoughAnotherProcessRepeatsTheDeletion() {
    try (TestDriver driver = TestDriver.rbd(CLUSTER).withCredentials().start();
        RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool("rbd")) {
      Volume volume = locking(driver, "rbd");
      String id = volume.getVolumeId();
      try (RbdImage image = new RbdPool(io).open(TestDriver.image(volume))) {
        announce(io, image.id());
        assertStatus(Code.FAILED_PRECONDITION, "in use", () -> driver.delete(id));
        assertUnpublishable(driver, id);
      }
      driver.delete(id);
    }
  }

  private static void announce(IoContext io, String imageId) {
    Instant now = Instant.now();
    ClassCall mark = ClassCall.content().u8(1).time(now).time(now.plusSeconds(60));
    try (WriteOperation write = new WriteOperation()) {
      write.omapSet("csi.java.deleted_" + imageId, mark.input());
      io.operate("rbd_trash", write);
    }
    assertThat(TrashMark.isAnnounced(io, imageId)).isTrue();
  }
}
