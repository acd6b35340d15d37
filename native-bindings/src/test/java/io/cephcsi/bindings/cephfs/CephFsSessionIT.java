package io.cephcsi.bindings.cephfs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.RadosCluster;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class CephFsSessionIT extends CephFsCase {
  private final String session = UUID.randomUUID().toString();

  @Test
  void aSessionIsEndedByItsNameAndTheOthersGoOn() {
    try (RadosCluster user = connectAs(CEPH.cephFsUser());
        CephFsMount victim = CephFsMount.mount(user, CEPH.fileSystem(), ROOT, session);
        CephFsMount other =
            CephFsMount.mount(user, CEPH.fileSystem(), ROOT, UUID.randomUUID().toString())) {
      assertThat(victim.status(directory).isDirectory()).isTrue();
      assertThat(CephFsSession.end(cluster, CEPH.fileSystem(), ROOT, session, own())).isTrue();
      assertThatThrownBy(() -> victim.makeDirectory(directory + "/late", 0755))
          .isInstanceOf(CephException.class);
      other.makeDirectory(directory + "/other", 0755);
      mount.makeDirectory(directory + "/mine", 0755);
      assertThat(mount.names(directory)).containsExactlyInAnyOrder("other", "mine");
    }
  }

  @Test
  void aSessionThatIsNotThereIsNone() {
    assertThat(CephFsSession.end(cluster, CEPH.fileSystem(), ROOT, session, own())).isFalse();
    CephFsMount.mount(cluster, CEPH.fileSystem(), ROOT, session).close();
    assertThat(CephFsSession.end(cluster, CEPH.fileSystem(), ROOT, session, own())).isFalse();
    assertThat(CephFsSession.end(cluster, "no-such", ROOT, session, own())).isFalse();
  }

  private static String own() {
    return UUID.randomUUID().toString();
  }
}
