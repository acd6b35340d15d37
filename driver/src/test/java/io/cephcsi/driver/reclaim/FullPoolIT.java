package io.cephcsi.driver.reclaim;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.rados.ConnectionSettings;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.cluster.MonitorQueries;
import io.cephcsi.driver.metrics.DriverMetrics;
import io.cephcsi.driver.testing.FileSystemImage;
import java.nio.file.Path;
import java.time.Duration;
import java.util.UUID;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A pool that a quota made full, where other writes wait: reclaim is what helps. */
class FullPoolIT extends ReclaimCase {
  private static final long SIZE = 256L * MIB;

  @TempDir Path folder;
  private String full;
  private IoContext fullIo;
  private RbdPool fullPool;

  @BeforeEach
  void makePool() {
    full = "full-" + UUID.randomUUID();
    ceph.ceph("osd", "pool", "create", full, "8");
    ceph.rbd("pool", "init", full);
    fullIo = cluster.openPool(full);
    fullPool = new RbdPool(fullIo);
  }

  @AfterEach
  void removePool() {
    fullIo.close();
    ceph.ceph("osd", "pool", "set-quota", full, "max_bytes", "0");
    ceph.ceph("osd", "pool", "rm", full, full, "--yes-i-really-really-mean-it");
  }

  /** The quota counts whole objects that are there, so there must be some. */
  private void makeFull() {
    byte[] data = new byte[MIB];
    for (int i = 0; i < 8; i++) {
      fullIo.writeFull("data-" + i, data);
    }
    ceph.ceph("osd", "pool", "set-quota", full, "max_bytes", "1000000");
    Awaitility.await()
        .atMost(Duration.ofSeconds(60))
        .until(
            () ->
                MonitorQueries.pools(cluster).stream()
                    .anyMatch(pool -> pool.name().equals(full) && pool.full()));
  }

  private FileSystemImage fill() {
    FileSystemImage files = FileSystemImage.make(folder, "ext4", SIZE);
    files.fillAndEmpty(SIZE);
    fullPool.create(name, SIZE, options().build());
    try (RbdImage image = fullPool.open(name)) {
      files.writeTo(image);
      image.write(SIZE - 4 * MIB, new byte[MIB]); // zeroes for sparsify
    }
    return files;
  }

  private ReclaimResult reclaim(SpaceReclaimer by) {
    return operate(
        operation ->
            by.reclaim(new TestTarget(ceph, fullPool, name), ReclaimPlan.DEFAULT, operation));
  }

  @Test
  void reclaimFreesSpaceInAPoolThatIsFull() {
    FileSystemImage files = fill();
    String checksums = files.checksums();
    makeFull();
    ReclaimResult result =
        reclaimed(reclaim(new SpaceReclaimer(new DriverMetrics(), new Admission(4))));
    assertThat(result.trim().isSkipped()).as(result.trim().detail()).isFalse();
    assertThat(result.freed()).isGreaterThan(40L * MIB);
    try (RbdImage image = fullPool.openReadOnly(name)) {
      files.readFrom(image);
    }
    files.check();
    assertThat(files.checksums()).isEqualTo(checksums);
  }

  @Test
  void whereNoPoolTakesThePlacesReclaimGoesOnWithoutOne() {
    String user = "full-" + UUID.randomUUID();
    String key =
        ceph.ceph(
            "auth",
            "get-or-create-key",
            "client." + user,
            "mon",
            "profile rbd",
            "osd",
            "profile rbd pool=" + full);
    makeFull();
    try (RadosCluster client =
            RadosCluster.connect(
                ConnectionSettings.user(user)
                    .monitors(ceph.monitors())
                    .key(key.strip())
                    .operationTimeout(Duration.ofSeconds(10))
                    .build());
        IoContext there = client.openPool(full)) {
      assertThat(ReclaimSlots.find(there)).isEmpty();
      try (ReclaimRun run = new ReclaimRun();
          Admission.Slot place =
              operate(operation -> new Admission(1).enter(run, there, "test", operation))
                  .orElseThrow()) {
        assertThat(place.isLost()).isFalse();
      }
    }
  }

  @Test
  void aBoardThatExistsWorksInAPoolThatIsFull() {
    try (ReclaimSlots board = ReclaimSlots.in(cluster, fullIo.poolId(), "").orElseThrow()) {
      makeFull();
      assertThat(board.tryTake(0, "cookie", "test", Duration.ofSeconds(5))).isPresent();
    }
    try (ReclaimSlots again = ReclaimSlots.in(cluster, fullIo.poolId(), "").orElseThrow()) {
      assertThat(again.tryTake(0, "other", "test", Duration.ofSeconds(5))).isEmpty();
    }
  }
}
