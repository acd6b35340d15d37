package io.cephcsi.bindings.rados;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.testing.Commands;
import io.cephcsi.testing.TestCluster;
import java.util.List;
import org.junit.jupiter.api.Test;

class ObjectLockIT {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final String LOCK = "lock";

  /** As a client of any kind takes it: a cookie may have any bytes. */
  private static void lock(String object, String cookie) {
    Commands.run(
        List.of(
            "bash",
            "-c",
            "rados -c \"$0\" -p \"$1\" lock get \"$2\" %s --lock-type shared --lock-cookie \"%s\""
                .formatted(LOCK, cookie),
            CLUSTER.conf().toString(),
            CLUSTER.pool(),
            object));
  }

  @Test
  void theCookieOfOneHolderDoesNotHideAnother() {
    String object = "lock-" + System.nanoTime();
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool(CLUSTER.pool(), "")) {
      lock(object, "$(printf '\\377%.0s' {1..400})"); // no character in UTF-8
      lock(object, "second");
      assertThat(ObjectLock.holders(io, object, LOCK)).hasSize(2);
      List<String> addresses = ObjectLock.holders(io, object, LOCK);
      assertThat(ObjectLock.breakDead(io, object, LOCK, addresses.get(1)::equals)).isTrue();
      assertThat(ObjectLock.holders(io, object, LOCK)).containsExactly(addresses.get(0));
      io.remove(object);
    }
  }
}
