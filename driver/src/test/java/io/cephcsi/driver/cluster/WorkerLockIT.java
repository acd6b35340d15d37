package io.cephcsi.driver.cluster;

import static org.assertj.core.api.Assertions.assertThat;

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
