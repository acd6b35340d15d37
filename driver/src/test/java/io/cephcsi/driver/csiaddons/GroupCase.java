package io.cephcsi.driver.csiaddons;

import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.testing.TestGroups;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.TestCluster;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** What the tests of volume groups share: a driver with an instance of its own. */
abstract class GroupCase {
  static final long MIB = 1L << 20;
  static final TestCluster CLUSTER = TestCluster.shared();
  static final PoolState POOL = new PoolState(CLUSTER, "rbd");

  @SuppressWarnings("NullAway.Init")
  static TestDriver driver;

  @SuppressWarnings("NullAway.Init")
  static TestGroups groups;

  @BeforeAll
  static void start() {
    driver =
        TestDriver.rbd(CLUSTER).instance("groups-" + UUID.randomUUID()).withCredentials().start();
    groups = new TestGroups(CLUSTER, driver);
  }

  @AfterAll
  static void stop() {
    driver.close();
  }

  static String newName() {
    return "group-" + UUID.randomUUID();
  }

  static Volume volume() {
    return driver.create("pvc-" + UUID.randomUUID(), 16 * MIB);
  }

  static String newVolume() {
    return volume().getVolumeId();
  }

  /** The image of a volume. */
  static String image(String volumeId) {
    return "csi-vol-" + TestGroups.uuid(volumeId);
  }
}
