package io.cephcsi.bindings.rbd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ImageLockIT extends RbdCase {
  private RadosCluster holderCluster;
  private IoContext holderIo;
  private RbdImage holder;

  @BeforeEach
  void openAsSomebodyElse() {
    create(MAPPED, 4);
    holderCluster = ceph.connect();
    holderIo = holderCluster.openPool(ceph.pool());
    holder = new RbdPool(holderIo).open(name);
  }

  @AfterEach
  void closeAsSomebodyElse() {
    holder.close();
    holderIo.close();
    holderCluster.close();
  }

  private static void assertErrno(Errno errno, ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOfSatisfying(CephException.class, e -> assertThat(e.errno()).isEqualTo(errno));
  }

  @Test
  void whileTheLockIsKeptWritesOfOthersFail() {
    try (RbdImage image = pool.open(name)) {
      assertThat(image.lock().owners()).isEmpty();
      holder.lock().acquire();
      assertThat(holder.lock().isOwner()).isTrue();
      assertThat(image.lock().isOwner()).isFalse();
      assertThat(image.lock().owners()).singleElement().isEqualTo(holderAddress());
      assertErrno(Errno.EROFS, () -> image.write(0, filled(10, 1)));
      assertErrno(Errno.EROFS, () -> image.discard(0, OBJECT));
      assertErrno(Errno.EROFS, () -> image.lock().acquire());
      holder.write(0, filled(10, 2));
      holder.flush();
      assertThat(image.read(0, 10)).isEqualTo(filled(10, 2));
      // Changes of the image itself are carried out by the holder.
      image.resize(5L * OBJECT, false, Progress.NONE);
      image.snapshots().create("s");
      assertThat(holder.snapshots().exists("s")).isTrue();
    }
  }

  private String holderAddress() {
    return holder.watchers().stream()
        .filter(watcher -> watcher.clientId() == holderCluster.instanceId())
        .findAny()
        .orElseThrow()
        .address();
  }

  @Test
  void afterItsReleaseTheHolderCannotWriteUntilItTakesItAgain() {
    holder.lock().acquire();
    holder.lock().release();
    assertThat(holder.lock().isOwner()).isFalse();
    assertErrno(Errno.EROFS, () -> holder.write(0, filled(10, 1)));
    assertErrno(Errno.EINVAL, () -> holder.lock().release());
    try (RbdImage image = pool.open(name)) {
      image.write(0, filled(10, 1));
    }
    holder.lock().acquire();
    holder.write(0, filled(10, 2));
  }

  @Test
  void aBrokenLockGoesToTheNextAndItsHolderIsBlocklisted() {
    holder.lock().acquire();
    try (RbdImage image = pool.open(name)) {
      image.lock().breakLock(holderAddress());
      image.lock().acquire();
      image.write(0, filled(10, 1));
      assertThatThrownBy(() -> image.lock().breakLock("127.0.0.1:0/1"))
          .isInstanceOf(CephException.Busy.class);
    }
    holderCluster.awaitLatestOsdMap();
    assertThatThrownBy(() -> holderIo.writeFull("object", filled(1, 1)))
        .isInstanceOf(CephException.Blocklisted.class);
  }

  @Test
  void anImageWithoutTheFeatureHasNoLock() {
    chooseName();
    create(PLAIN, 1);
    try (RbdImage image = pool.open(name)) {
      assertErrno(Errno.EINVAL, () -> image.lock().acquire());
      assertErrno(Errno.EINVAL, () -> image.lock().owners());
      assertThat(image.lock().isOwner()).isFalse();
    }
  }
}
