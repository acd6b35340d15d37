package io.cephcsi.driver.app;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.DriverSeat;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.ServedProcess;
import io.cephcsi.driver.testing.SubvolumeState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.testing.TestCluster;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** What a controller does by itself after its start. */
class WarmUpIT {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final long BYTES = 16L << 20;

  @Test
  void nothingInThePoolChanges() {
    PoolState pool = new PoolState(CLUSTER, CLUSTER.pool());
    check(DriverConfig.Type.RBD, CLUSTER.rbdUser(), pool::everything);
  }

  @Test
  void nothingInTheFileSystemChanges() {
    SubvolumeState files = new SubvolumeState(CLUSTER);
    check(DriverConfig.Type.CEPHFS, CLUSTER.cephFsUser(), files::leftovers);
  }

  private static void check(DriverConfig.Type type, String user, Supplier<Set<String>> state) {
    try (TestDriver maker =
            (type == DriverConfig.Type.RBD ? TestDriver.rbd(CLUSTER) : TestDriver.cephFs(CLUSTER))
                .start();
        DriverSeat seat = new DriverSeat(type, CLUSTER, user, List.of())) {
      String volume = maker.create("warm-up", BYTES).getVolumeId();
      Set<String> before = state.get();
      try (ServedProcess process = seat.start()) {
        Awaitility.await()
            .atMost(Duration.ofMinutes(2))
            .until(() -> process.output().contains("prepared for calls on cluster"));
        Set<String> after = state.get(); // what other tests deleted may be removed meanwhile
        assertThat(before).containsAll(after);
        String uuid = volume.substring(volume.length() - 36);
        assertThat(named(uuid, after)).isNotEmpty().isEqualTo(named(uuid, before));
        assertThat(process.output().lines())
            .filteredOn(line -> !line.contains(" DeletedImages ")) // other tests' are in the trash
            .noneMatch(line -> line.matches(".* (WARN|ERROR|requests) .*"));
      }
      maker.delete(volume);
    }
  }

  private static Set<String> named(String uuid, Set<String> all) {
    return all.stream().filter(each -> each.contains(uuid)).collect(Collectors.toSet());
  }
}
