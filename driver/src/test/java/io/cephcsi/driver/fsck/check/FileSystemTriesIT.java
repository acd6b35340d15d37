package io.cephcsi.driver.fsck.check;

import static io.cephcsi.driver.fsck.check.CheckedFileSystem.MIB;
import static io.cephcsi.driver.fsck.check.CheckedFileSystem.uuid;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.fsck.Finding;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.Tries;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Several damages of a file system at once: a check names each, and nothing else. */
class FileSystemTriesIT {
  private static final Logger LOG = LoggerFactory.getLogger(FileSystemTriesIT.class);
  private static final int TRIES = "full".equals(System.getenv("CEPH_CSI_TEST_CAMPAIGN")) ? 300 : 6;

  private static CheckedFileSystem cluster;
  private static FileSystemDamages damages;

  /** What can be done to each volume, and to each snapshot that a shallow volume shows. */
  private static final List<Map<String, FileSystemDamages.Damage>> VICTIMS = new ArrayList<>();

  @BeforeAll
  static void fill() {
    cluster = new CheckedFileSystem("fsck-fs-tries");
    damages = new FileSystemDamages(cluster);
    for (int i = 0; i < 8; i++) {
      VICTIMS.add(damages.ofVolume("plain-" + i, cluster.driver().create("plain-" + i, 8 * MIB)));
    }
    for (int i = 0; i < 3; i++) {
      Volume source = cluster.driver().create("source-" + i, 8 * MIB);
      String taken = cluster.driver().snapshot("shot-" + i, source.getVolumeId()).getSnapshotId();
      String shown = cluster.driver().show("shown-" + i, taken).getVolumeId();
      VICTIMS.add(damages.ofSnapshot(i, uuid(source.getVolumeId()), taken, uuid(shown)));
    }
    Awaitility.await()
        .atMost(Duration.ofSeconds(30))
        .untilAsserted(() -> assertThat(cluster.check()).isEmpty());
  }

  @AfterAll
  static void end() {
    cluster.close();
  }

  @Test
  void severalDamagesAtOnceAreFoundAndNothingElse() {
    AtomicInteger count = new AtomicInteger();
    Tries.times(
        TRIES,
        values -> {
          FileSystemDamages.Change change = damages.new Change(values);
          List<String> names = new ArrayList<>();
          try {
            for (Map<String, FileSystemDamages.Damage> victim : values.someOf(VICTIMS, 2, 6)) {
              Map.Entry<String, FileSystemDamages.Damage> damage =
                  values.oneOf(new ArrayList<>(victim.entrySet()));
              names.add(damage.getKey());
              damage.getValue().apply(change);
              count.incrementAndGet();
            }
            List<Finding> found = cluster.check();
            assertThat(CheckedCluster.shown(found))
                .as(names + ": " + found)
                .isEqualTo(change.expected());
          } finally {
            change.undo();
          }
        });
    LOG.warn("{} damages in {} tries, each found and nothing else", count, TRIES);
    assertThat(cluster.check()).isEmpty();
  }
}
