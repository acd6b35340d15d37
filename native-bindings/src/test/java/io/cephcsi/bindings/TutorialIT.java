package io.cephcsi.bindings;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.testing.TestCluster;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The tutorial does what the README says. */
class TutorialIT {
  private static final TestCluster CEPH = TestCluster.shared();
  private static RadosCluster cluster;

  @BeforeAll
  static void connect() {
    cluster = Tutorial.connect(CEPH.conf());
  }

  @AfterAll
  static void disconnect() {
    cluster.close(); // fails if something of the tutorial is still open
  }

  @Test
  void anObjectIsChangedInOneStep() {
    assertThat(Tutorial.object(cluster, CEPH.pool())).isEqualTo("data used true");
  }

  @Test
  void aSnapshotKeepsWhatIsDiscarded() {
    assertThat(Tutorial.image(cluster, CEPH.pool())).isEqualTo("hello".getBytes(UTF_8));
    assertThat(CEPH.rbd("ls", CEPH.pool())).doesNotContain("tutorial");
  }

  @Test
  void aFileSystemIsMountedInTheProcess() {
    assertThat(Tutorial.file(cluster, CEPH.fileSystem())).isEqualTo(1 << 30);
  }

  @Test
  void anErrorSaysOperationObjectAndErrno() {
    assertThat(Tutorial.missing(cluster, CEPH.pool()))
        .matches("rados_\\w+ .*no-such-object ENOENT");
  }
}
