package io.cephcsi.driver.rbd.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.fail;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.ImageSnapshot;
import io.cephcsi.bindings.rbd.Progress;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.SnapshotNamespace;
import io.cephcsi.testing.TestCluster;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A snapshot that is taken for some work, and what others do to it meanwhile. */
class CloneStepsIT {
  private static final String SNAPSHOT = "temporary";

  private final RadosCluster cluster = TestCluster.shared().connect();
  private final IoContext io = cluster.openPool("rbd");
  private final RbdPool pool = new RbdPool(io);
  private final String source = "workshop-" + UUID.randomUUID();
  private final String clone = source + "-clone";

  @BeforeEach
  void create() {
    pool.create(source, 8L << 20, ImageOptions.builder().build());
  }

  @AfterEach
  void close() {
    pool.remove(source, Progress.NONE);
    io.close();
    cluster.close();
  }

  private static void none() {
    fail("there is no snapshot of the name");
  }

  private void makeClone() {
    pool.cloneImage(source, SNAPSHOT, pool, clone, CloneSteps.INTERMEDIATE);
  }

  private static void isAs(SnapshotNamespace namespace, RbdImage image) {
    assertThat(image.snapshots().list())
        .extracting(ImageSnapshot::namespace)
        .containsExactly(namespace);
  }

  private void vanishesWithItsClone(RbdImage image) {
    isAs(SnapshotNamespace.TRASH, image);
    pool.remove(clone, Progress.NONE);
    assertThat(image.snapshots().list()).isEmpty();
  }

  @Test
  void itMovesToTheTrashWhileItsCloneIsThere() {
    try (RbdImage image = pool.open(source)) {
      CloneSteps.withSnapshot(image, SNAPSHOT, CloneStepsIT::none, this::makeClone);
      vanishesWithItsClone(image);
    }
  }

  @Test
  void anotherAttemptMayHaveRemovedItByItsName() {
    try (RbdImage image = pool.open(source)) {
      CloneSteps.withSnapshot(
          image,
          SNAPSHOT,
          CloneStepsIT::none,
          () -> {
            makeClone();
            CloneSteps.removeSnapshot(pool, source, SNAPSHOT);
            isAs(SnapshotNamespace.TRASH, image);
          });
      vanishesWithItsClone(image);
    }
  }

  @Test
  void oneThatSomebodyProtectedStays() {
    try (RbdImage image = pool.open(source)) {
      assertThatThrownBy(
              () ->
                  CloneSteps.withSnapshot(
                      image,
                      SNAPSHOT,
                      CloneStepsIT::none,
                      () -> image.snapshots().protect(SNAPSHOT)))
          .isInstanceOf(CephException.Busy.class);
      isAs(SnapshotNamespace.USER, image);
      image.snapshots().unprotect(SNAPSHOT);
      image.snapshots().remove(SNAPSHOT);
    }
  }

  @Test
  void oneThatADeadProcessLeftIsTakenAnew() {
    try (RbdImage image = pool.open(source)) {
      image.snapshots().create(SNAPSHOT);
      long left = image.snapshots().id(SNAPSHOT);
      CloneSteps.withSnapshot(
          image,
          SNAPSHOT,
          () -> assertThat(image.snapshots().id(SNAPSHOT)).isEqualTo(left),
          () -> assertThat(image.snapshots().id(SNAPSHOT)).isGreaterThan(left));
      assertThat(image.snapshots().list()).isEmpty();
    }
  }
}
