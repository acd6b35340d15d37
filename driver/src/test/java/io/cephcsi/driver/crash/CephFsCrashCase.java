package io.cephcsi.driver.crash;

import io.cephcsi.driver.testing.SubvolumeState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** What the tests share whose driver dies over a call on CephFS, and another one goes on. */
abstract class CephFsCrashCase {
  static final long MIB = 1L << 20;

  /** Whether every write is tried, before and after it, instead of a sample. */
  static final boolean FULL = "full".equals(System.getenv("CEPH_CSI_TEST_CAMPAIGN"));

  static final TestCluster CLUSTER = TestCluster.shared();
  static final SubvolumeState STATE = new SubvolumeState(CLUSTER);

  /** The one that goes on. */
  @SuppressWarnings("NullAway.Init")
  static TestDriver driver;

  @BeforeAll
  static void start() throws IOException {
    driver = TestDriver.cephFs(CLUSTER).withCredentials().start();
    STATE.letBeWhatIsThere();
  }

  @AfterAll
  static void stop() {
    driver.close();
  }
}
