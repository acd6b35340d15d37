package io.cephcsi.driver.cephfs;

import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.ConnectionPool;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.kms.KmsCatalog;
import io.cephcsi.driver.kms.KmsConfig;
import io.cephcsi.driver.testing.SubvolumeState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.TestCluster;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** What the tests share that put something between this driver's code and the manager. */
abstract class ManagerCase {
  static final long MIB = 1L << 20;
  static final TestCluster CLUSTER = TestCluster.shared();
  static final KmsCatalog NO_KMS = KmsConfig.ofProcess(KmsConfig.DEFAULT_FILE);
  static final SubvolumeState STATE = new SubvolumeState(CLUSTER);

  /** A driver as it is. */
  @SuppressWarnings("NullAway.Init")
  static TestDriver driver;

  @SuppressWarnings("NullAway.Init")
  static ConnectionPool connections;

  @BeforeAll
  static void start() {
    driver = TestDriver.cephFs(CLUSTER).withCredentials().start();
    STATE.letBeWhatIsThere();
    connections = new ConnectionPool(Duration.ofSeconds(15), Duration.ofSeconds(30));
  }

  @AfterAll
  static void stop() {
    connections.close();
    driver.close();
  }

  static String subvolume(Volume volume) {
    return volume.getVolumeContextMap().get("subvolumeName");
  }

  static Lease lease() {
    return lease(TestDriver.CLUSTER_ID, "csi");
  }

  /** The cluster by a clusterID of the same journal. */
  static Lease lease(String clusterId, String group) {
    return connections.lease(
        new ClusterConfig(clusterId, List.of(CLUSTER.monitors()), "", "csi", group),
        Credentials.fromSecrets(driver.secrets()));
  }

  /** The file system, with a manager between. */
  static OpenFileSystem open(Lease lease, ManagerCommands commands) {
    OpenFileSystem files = OpenFileSystem.named(lease, CLUSTER.fileSystem(), "default");
    return new OpenFileSystem(
        lease,
        files.info(),
        files.metadata(),
        new SubvolumeAdmin(commands, CLUSTER.fileSystem(), lease.config().subvolumeGroup()),
        "default",
        files.keys());
  }
}
