package io.cephcsi.driver.rbd;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.testing.LocalCluster;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Two OSDs are the fewest that an erasure-coded pool works on. */
class PoolProblemsIT {
  private static final long MIB = 1L << 20;

  private static LocalCluster ceph;
  private static TestDriver driver;

  @BeforeAll
  static void start() {
    assumeThat(TestCluster.canControl()).isTrue();
    ceph = TestCluster.start("pools", "--osds", "2");
    ceph.ceph(
        "osd", "erasure-code-profile", "set", "two", "k=2", "m=1", "crush-failure-domain=osd");
    ceph.ceph("osd", "pool", "create", "coded", "1", "1", "erasure", "two");
    ceph.ceph("osd", "pool", "application", "enable", "coded", "rbd");
    driver = TestDriver.rbd(ceph).start();
  }

  @AfterAll
  static void stop() {
    if (ceph != null) {
      driver.close();
      ceph.close();
    }
  }

  /** What a StorageClass names falsely is its author's mistake, and takes no name. */
  @ParameterizedTest
  @CsvSource({"pool, is erasure-coded", "dataPool, must allow overwrites"})
  void anErasureCodedPoolThatCannotHoldImagesIsNamed(String parameter, String problem) {
    CreateVolumeRequest request = driver.createRequest("pvc-" + UUID.randomUUID(), MIB).build();
    assertStatus(
        Code.FAILED_PRECONDITION,
        "pool coded " + problem,
        () ->
            driver
                .controller()
                .createVolume(request.toBuilder().putParameters(parameter, "coded").build()));
    assertThat(new PoolState(ceph, "rbd").everything()).isEmpty();
    driver.delete(driver.controller().createVolume(request).getVolume().getVolumeId());
  }
}
