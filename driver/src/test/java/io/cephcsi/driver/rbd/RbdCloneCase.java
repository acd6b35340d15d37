package io.cephcsi.driver.rbd;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.ImageContent;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.TestCluster;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;

/** A volume with content and a snapshot of it, whose clones are tried. */
abstract class RbdCloneCase {
  static final long MIB = 1L << 20;
  static final TestCluster CLUSTER = TestCluster.shared();
  static final PoolState POOL = new PoolState(CLUSTER, "rbd");
  static final ImageContent CONTENT = new ImageContent(CLUSTER);

  private static final List<String> DELETED = new ArrayList<>();

  @SuppressWarnings("NullAway.Init")
  static TestDriver driver;

  String name;
  Volume source;
  Snapshot snapshot;

  @BeforeAll
  static void start() {
    DELETED.clear();
    driver = TestDriver.rbd(CLUSTER).start();
  }

  /** What the tests deleted goes from the trash; the manager takes a while for each image. */
  @AfterAll
  static void nothingIsLeft() {
    try (TestDriver last = driver) {
      Awaitility.await()
          .atMost(PoolState.MANAGER_TIME)
          .untilAsserted(() -> assertThat(POOL.trash()).doesNotContainAnyElementsOf(DELETED));
    }
  }

  @BeforeEach
  void source() {
    name = "pvc-" + UUID.randomUUID();
    source = driver.create(name + "-source", 64 * MIB);
    CONTENT.write(rbd(source), 7);
    snapshot = driver.snapshot(name + "-snap", source.getVolumeId());
  }

  static String rbd(Volume volume) {
    return "rbd/" + TestDriver.image(volume);
  }

  /** Deletes volumes, the snapshot and the source; {@link #nothingIsLeft} waits for them. */
  void deleteWithSource(Volume... volumes) {
    for (Volume volume : volumes) {
      driver.delete(volume.getVolumeId());
      DELETED.add(TestDriver.image(volume));
    }
    driver.deleteSnapshot(snapshot.getSnapshotId());
    driver.delete(source.getVolumeId());
    DELETED.addAll(List.of(TestDriver.image(source), TestDriver.image(snapshot)));
  }
}
