package io.cephcsi.bindings.rbd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** An image that another client has locked, and flattens for this one, which takes long. */
class FlattenByOwnerIT extends RbdCase {
  private static final String SNAPSHOT = "parent";
  private static final long BYTES = 8L << 40;
  private static final Duration TIMEOUT = Duration.ofSeconds(3);
  private static final Duration PATIENCE = TIMEOUT.multipliedBy(4);

  private final AtomicBoolean isToEnd = new AtomicBoolean();
  private final AtomicLong done = new AtomicLong();

  /** A removal that waits for the flattening to end tells that it is busy. */
  private void remove(String parent) {
    for (int tries = 60; ; tries--) {
      try {
        pool.remove(name, Progress.NONE);
        break;
      } catch (CephException.Busy e) {
        assertThat(tries).isPositive();
        pause(Duration.ofSeconds(1));
      }
    }
    try (RbdImage image = pool.open(parent)) {
      image.snapshots().remove(SNAPSHOT);
    }
    pool.remove(parent, Progress.NONE);
  }

  private static void pause(Duration time) {
    try {
      Thread.sleep(time.toMillis());
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void itIsUsedMeanwhile() {
    String parent = "parent-" + name;
    pool.create(parent, BYTES, with(MAPPED));
    try (RbdImage image = pool.open(parent)) {
      image.snapshots().create(SNAPSHOT);
    }
    ImageOptions options =
        ImageOptions.builder().features(MAPPED).objectSizeBytes(OBJECT).cloneFormat(2).build();
    pool.cloneImage(parent, SNAPSHOT, pool, name, options);
    var slowly = ceph.settings().option("rbd_concurrent_management_ops", "1").build();
    try (RadosCluster ownerCluster = RadosCluster.connect(slowly);
        IoContext ownerIo = ownerCluster.openPool(ceph.pool());
        RadosCluster other =
            RadosCluster.connect(ceph.settings().operationTimeout(TIMEOUT).build());
        IoContext otherIo = other.openPool(ceph.pool())) {
      RbdPool theirs = new RbdPool(otherIo);
      try (RbdImage owner = new RbdPool(ownerIo).open(name)) {
        owner.write(0, new byte[] {1}); // takes the lock
        RbdImage flattening = theirs.open(name);
        assertThatThrownBy(
                () ->
                    flattening.flatten(
                        (objects, all) -> {
                          done.set(objects);
                          return !isToEnd.get();
                        }))
            .isInstanceOf(CephException.OwnerSilent.class)
            .hasMessageContaining("another client still carries it out");
        flattening.close();
        try (RbdImage again = theirs.open(name)) { // the owner would begin it after the other one
          assertThatThrownBy(() -> again.flatten(Progress.NONE))
              .isInstanceOf(CephException.OwnerSilent.class)
              .hasMessageContaining("another client still carries it out");
        }
        pause(PATIENCE.plusSeconds(4)); // a close that waits would be given up
        long before = done.get();
        assertThat(before).isPositive();
        theirs.open(name).close();
        try (RbdImage image = pool.open(name)) { // of a client with more patience
          image.snapshots().create("meanwhile");
          image.snapshots().remove("meanwhile");
        }
        Awaitility.await().atMost(Duration.ofMinutes(1)).until(() -> done.get() > before);
        assertThat(done).hasValueLessThan(BYTES / OBJECT);
        isToEnd.set(true);
      }
    } finally {
      isToEnd.set(true);
    }
    remove(parent);
  }
}
