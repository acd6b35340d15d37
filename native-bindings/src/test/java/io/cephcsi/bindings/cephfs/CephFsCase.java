package io.cephcsi.bindings.cephfs;

import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.testing.TestCluster;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;

/**
 * What the tests of CephFS share: a connection of the provisioning user, a mount, a fresh
 * directory, and a second client. Closing the mount fails when a test left something open.
 */
abstract class CephFsCase {
  static final TestCluster CEPH = TestCluster.shared();
  static final String ROOT = "/volumes/csi";
  static RadosCluster cluster;
  static CephFsMount mount;

  /** A directory of this test alone. */
  String directory;

  @BeforeAll
  static void connect() {
    cluster = connectAs(CEPH.cephFsUser());
    mount = CephFsMount.mount(cluster, CEPH.fileSystem(), ROOT);
  }

  static RadosCluster connectAs(String user) {
    return RadosCluster.connect(
        io.cephcsi.bindings.rados.ConnectionSettings.user(user)
            .monitors(CEPH.monitors())
            .key(CEPH.key(user))
            .build());
  }

  @AfterAll
  static void disconnect() {
    mount.close();
    cluster.close();
  }

  @BeforeEach
  void makeDirectory() {
    directory = "/test-" + UUID.randomUUID();
    mount.makeDirectory(directory, 0755);
  }
}
