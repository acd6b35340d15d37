package io.cephcsi.driver.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.testing.TestCluster;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class WorkerLockIT {
  private static final TestCluster CEPH = TestCluster.shared();

  private final String object = "worked-on-" + UUID.randomUUID();

  /** Such as the connection that all calls use, when a promotion has one of its own. */
  @Test
  void aMarkThatThisProcessCouldNotRemoveDoesNotShutItsOtherConnectionOut() {
    try (RadosCluster shared = CEPH.connect();
        IoContext theirs = shared.openPool(CEPH.pool());
        RadosCluster apart = CEPH.connect();
        IoContext io = apart.openPool(CEPH.pool())) {
      WorkerMark mark = new WorkerMark();
      leave(theirs, mark);
      mark.close();
      try (WorkerLock lock = WorkerLock.begin(io, object, "lock", "test", "a test", false)) {
        lock.require();
      }
      assertThat(CEPH.rados("-p", CEPH.pool(), "listxattr", object)).doesNotContain(mark.name());
      assertThat(CEPH.ceph("osd", "blocklist", "ls")).doesNotContain(nonce(shared.addresses()));
      leave(theirs, mark); // it is still served
      CEPH.rados("-p", CEPH.pool(), "rm", object);
    }
  }

  @Test
  void whatMayStillBeCarriedOutKeepsItsMark() {
    try (RadosCluster cluster = CEPH.connect();
        IoContext io = cluster.openPool(CEPH.pool())) {
      try (WorkerLock lock = begin(io)) {
        lock.run(() -> assertThat(attributes()).contains("csi.java.worker."));
      }
      assertThat(attributes()).doesNotContain("csi.java.worker.");
      CephException silent = new CephException.OwnerSilent("rbd_call", "image", -110, "no answer");
      try (WorkerLock lock = begin(io)) {
        assertThatThrownBy(
                () ->
                    lock.run(
                        () -> {
                          throw new IllegalStateException("wrapped", silent);
                        }))
            .hasCause(silent);
      }
      String left = attributes();
      assertThat(left).contains("csi.java.worker.", "lock.lock");
      CEPH.rados("-p", CEPH.pool(), "rmxattr", object, "lock.lock"); // as if it had run out
      begin(io).close();
      assertThat(attributes()).doesNotContain("csi.java.worker.");
      assertThat(CEPH.ceph("osd", "blocklist", "ls")).doesNotContain(nonce(cluster.addresses()));
      CEPH.rados("-p", CEPH.pool(), "rm", object);
    }
  }

  @Test
  void whatWasNotBegunKeepsNoMark() {
    try (RadosCluster cluster = CEPH.connect();
        IoContext io = cluster.openPool(CEPH.pool())) {
      CephException refused =
          new CephException.OwnerSilent("rbd_call", "image", -110, "no room", false);
      try (WorkerLock lock = begin(io)) {
        assertThatThrownBy(
                () ->
                    lock.run(
                        () -> {
                          throw refused;
                        }))
            .isSameAs(refused);
      }
      assertThat(attributes()).doesNotContain("csi.java.worker.");
      begin(io).close(); // at once
      CEPH.rados("-p", CEPH.pool(), "rm", object);
    }
  }

  private WorkerLock begin(IoContext io) {
    return WorkerLock.begin(io, object, "lock", "test", "a test", true);
  }

  private String attributes() {
    return CEPH.rados("-p", CEPH.pool(), "listxattr", object);
  }

  private void leave(IoContext io, WorkerMark mark) {
    try (WriteOperation write = new WriteOperation()) {
      write.setXattr(mark.name(), mark.value(io, object));
      io.operate(object, write);
    }
  }

  /** The end of an address: that of the client among those of its machine. */
  private static String nonce(String addresses) {
    return addresses.substring(addresses.lastIndexOf('/'));
  }
}
