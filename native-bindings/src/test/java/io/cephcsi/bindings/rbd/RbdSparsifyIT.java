package io.cephcsi.bindings.rbd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Sparsify, and how cancelling works for each operation that reports progress. */
class RbdSparsifyIT extends RbdCase {
  private static final int OBJECTS = 100;

  /** Cancels at the tenth object and keeps what it was told. */
  private static final class Stopping implements Progress {
    final List<Long> seen = new ArrayList<>();

    @Override
    public synchronized boolean progress(long done, long total) {
      assertThat(total).isGreaterThanOrEqualTo(OBJECTS - 1);
      seen.add(done);
      return seen.size() < 10;
    }

    void stops(Runnable operation) {
      assertThatThrownBy(operation::run).isInstanceOf(CephException.Canceled.class);
      assertThat(seen).hasSize(10).isSorted().doesNotHaveDuplicates();
    }
  }

  private static long exactBytes(RbdImage image) {
    long[] bytes = new long[1];
    image.diff(
        Optional.empty(),
        0,
        image.size(),
        false,
        false,
        (offset, length, exists) -> {
          bytes[0] += exists ? length : 0;
          return true;
        });
    return bytes[0];
  }

  @Test
  void zeroesInsideObjectsAreFreedAndDataStays() {
    create(MAPPED, 20);
    byte[] half = new byte[OBJECT];
    System.arraycopy(filled(OBJECT / 2, 1), 0, half, 0, OBJECT / 2);
    try (RbdImage image = pool.open(name)) {
      for (int i = 0; i < 10; i++) {
        image.write((long) i * OBJECT, half);
      }
      fill(image, 10, 5, 0);
      assertThat(exactBytes(image)).isEqualTo(15L * OBJECT);
      List<Long> seen = new ArrayList<>();
      image.sparsify(
          4096,
          (done, total) -> {
            assertThat(total).isEqualTo(20);
            return seen.add(done);
          });
      assertThat(seen).hasSize(20).isSorted();
      assertThat(exactBytes(image)).isEqualTo(5L * OBJECT).isEqualTo(allocatedBytes());
      for (int i = 0; i < 10; i++) {
        assertThat(image.read((long) i * OBJECT, OBJECT)).isEqualTo(half);
      }
      assertThat(image.read(10L * OBJECT, OBJECT)).isEqualTo(new byte[OBJECT]);
    }
  }

  @Test
  void sizesThatAreNoPowerOfTwoOrLargerThanAnObjectAreRefused() {
    create(PLAIN, 1);
    try (RbdImage image = pool.open(name)) {
      assertThatThrownBy(() -> image.sparsify(5000, Progress.NONE))
          .isInstanceOf(CephException.class);
      assertThatThrownBy(() -> image.sparsify(2L * OBJECT, Progress.NONE))
          .isInstanceOf(CephException.class);
    }
  }

  @Test
  void sparsifyStopsSoonAfterItWasCancelled() {
    create(MAPPED, OBJECTS);
    try (RbdImage image = pool.open(name)) {
      fill(image, 0, OBJECTS, 0);
      Stopping progress = new Stopping();
      progress.stops(() -> image.sparsify(4096, progress));
      // What was in flight is done: no more than rbd_concurrent_management_ops objects.
      assertThat(exactBytes(image) / OBJECT).isBetween(OBJECTS - 30L, OBJECTS - 5L);
      image.sparsify(4096, Progress.NONE);
      assertThat(exactBytes(image)).isZero();
    }
  }

  @Test
  void whatTheListenerThrowsStopsTheOperationAndComesOutOfIt() {
    create(MAPPED, OBJECTS);
    try (RbdImage image = pool.open(name)) {
      fill(image, 0, OBJECTS, 0);
      assertThatThrownBy(
              () ->
                  image.sparsify(
                      4096,
                      (done, total) -> {
                        throw new UnsupportedOperationException("seen");
                      }))
          .isInstanceOf(UnsupportedOperationException.class)
          .hasMessage("seen");
      assertThat(exactBytes(image)).isGreaterThan(OBJECT * 50L);
    }
  }

  @Test
  void anOperationThatTheHolderOfTheLockCarriesOutCannotBeCancelled() {
    create(MAPPED, OBJECTS);
    try (RadosCluster other = ceph.connect();
        IoContext otherIo = other.openPool(ceph.pool());
        RbdImage holder = pool.open(name);
        RbdImage image = new RbdPool(otherIo).open(name)) {
      fill(holder, 0, OBJECTS, 0);
      holder.lock().acquire();
      image.sparsify(4096, (done, total) -> false);
      assertThat(exactBytes(holder)).isZero();
    }
  }

  @Test
  void flattenResizeRollbackAndRebuildStopToo() {
    create(MAPPED, OBJECTS);
    String clone = name + "-clone";
    try (RbdImage image = pool.open(name)) {
      fill(image, 0, OBJECTS, 1);
      image.snapshots().create("s");
      pool.cloneImage(
          name, "s", pool, clone, ImageOptions.builder().features(MAPPED).cloneFormat(2).build());
      try (RbdImage child = pool.open(clone)) {
        Stopping flatten = new Stopping();
        flatten.stops(() -> child.flatten(flatten));
        assertThat(child.parent()).isPresent();
        child.flatten(Progress.NONE);
        Stopping resize = new Stopping();
        resize.stops(() -> child.resize(OBJECT, true, resize));
        // The size stays, but objects are gone; unless the last of them went before it was stopped.
        assertThat(child.size()).isIn((long) OBJECTS * OBJECT, (long) OBJECT);
        if (child.size() > OBJECT) {
          assertThat(child.read(OBJECT, 1)).isEqualTo(new byte[1]);
        }
      }
      fill(image, 0, OBJECTS, 2);
      Stopping rollback = new Stopping();
      rollback.stops(() -> image.snapshots().rollback("s", rollback));
      assertThat(image.read(0, 1)).isEqualTo(filled(1, 1));
      assertThat(image.read((OBJECTS - 1L) * OBJECT, 1)).isEqualTo(filled(1, 2));
      Stopping rebuild = new Stopping();
      rebuild.stops(() -> image.rebuildObjectMap(rebuild));
      image.rebuildObjectMap(Progress.NONE);
    }
  }
}
