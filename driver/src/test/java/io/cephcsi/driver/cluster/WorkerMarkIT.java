package io.cephcsi.driver.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.rados.ConnectionSettings;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.testing.TestCluster;
import org.junit.jupiter.api.Test;

class WorkerMarkIT {
  private static final TestCluster CEPH = TestCluster.shared();

  @Test
  void tellsTheAddressOnlyWhereAWorkerWithTheSameKeyWroteIt() {
    try (RadosCluster cluster = CEPH.connect();
        IoContext io = cluster.openPool(CEPH.pool());
        WorkerMark mark = new WorkerMark();
        WorkerMark another = new WorkerMark()) {
      byte[] value = mark.value(io, "object");
      assertThat(WorkerMark.address(io, "object", mark.name(), value))
          .hasValue(cluster.addresses());
      assertThat(WorkerMark.address(io, "other", mark.name(), value)).isEmpty();
      assertThat(WorkerMark.address(io, "object", another.name(), value)).isEmpty();
      assertThat(new String(value, UTF_8)).doesNotContain(CEPH.key("admin"));
      assertThat(WorkerMark.address(io, "object", mark.name(), cluster.addresses().getBytes(UTF_8)))
          .isEmpty();
      byte[] moved = new String(value, UTF_8).replaceFirst(":0/\\d+", ":0/42").getBytes(UTF_8);
      assertThat(WorkerMark.address(io, "object", mark.name(), moved)).isEmpty();
      try (RadosCluster tenant = RadosCluster.connect(tenant());
          IoContext theirs = tenant.openPool(CEPH.pool())) {
        byte[] forged = mark.value(theirs, "object");
        assertThat(WorkerMark.address(io, "object", mark.name(), forged)).isEmpty();
      }
    }
  }

  @Test
  void aConnectionThatFoundItsKeyInAKeyringNeitherSignsNorProves() {
    try (RadosCluster cluster = CEPH.connect();
        IoContext io = cluster.openPool(CEPH.pool());
        RadosCluster bare =
            RadosCluster.connect(ConnectionSettings.user("admin").configFile(CEPH.conf()).build());
        IoContext theirs = bare.openPool(CEPH.pool())) {
      String signed = SignedAddress.own(io, "object", "purpose").orElseThrow();
      assertThat(SignedAddress.proven(io, "object", "purpose", signed))
          .hasValue(cluster.addresses());
      assertThat(SignedAddress.proven(io, "object", "another", signed)).isEmpty();
      assertThat(SignedAddress.own(theirs, "object", "purpose")).isEmpty();
      assertThat(SignedAddress.proven(theirs, "object", "purpose", signed)).isEmpty();
    }
  }

  private static ConnectionSettings tenant() {
    CEPH.ceph("auth", "get-or-create", "client.tenant", "mon", "allow r", "osd", "allow rw");
    return ConnectionSettings.user("tenant")
        .monitors(CEPH.monitors())
        .key(CEPH.ceph("auth", "get-key", "client.tenant").strip())
        .build();
  }

  @Test
  void isAtWorkUntilItIsClosed() {
    WorkerMark mark = new WorkerMark();
    assertThat(WorkerMark.isName(mark.name())).isTrue();
    assertThat(WorkerMark.isAtWork(mark.name())).isTrue();
    mark.close();
    assertThat(WorkerMark.isAtWork(mark.name())).isFalse();
  }
}
