package io.cephcsi.driver.crash;

import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.testing.TestCluster;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** What the tests share whose driver dies, or is stopped, over a call. */
abstract class CrashCase {
  /** Whether every write is tried, before and after it, instead of a sample. */
  static final boolean FULL = "full".equals(System.getenv("CEPH_CSI_TEST_CAMPAIGN"));

  static final TestCluster CLUSTER = TestCluster.shared();
  static final PoolState POOL = new PoolState(CLUSTER, "rbd");

  @BeforeAll
  static void shortTimeout() {
    // A process that was halted counts as a user of its images until its watch expires.
    CLUSTER.ceph("config", "set", "osd", "osd_client_watch_timeout", "10");
  }

  @AfterAll
  static void usualTimeout() {
    CLUSTER.ceph("config", "rm", "osd", "osd_client_watch_timeout");
  }
}
