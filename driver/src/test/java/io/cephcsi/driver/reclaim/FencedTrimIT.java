package io.cephcsi.driver.reclaim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.cls.HeaderLock;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.testing.FileSystemImage;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A trim that fails otherwise than by a timeout: discards without an answer may be on their way.
 */
class FencedTrimIT extends ReclaimCase {
  private static final long SIZE = 384L * MIB;
  private static final Map<String, String> TRIM = Map.of("reclaim.method", "trim");

  @TempDir Path folder;

  private void fill(boolean elsewhere) {
    FileSystemImage files = FileSystemImage.make(folder, "ext4", SIZE);
    files.fillAndEmpty(SIZE);
    var options = options().objectSizeBytes(MIB);
    pool.create(name, SIZE, (elsewhere ? options.dataPool(ceph.otherPool()) : options).build());
    try (RbdImage image = open()) {
      files.writeTo(image);
    }
  }

  private void assertShutOut() {
    try (RbdImage image = pool.openReadOnly(name)) {
      List<String> holders = HeaderLock.holders(pool, image.id());
      assertThat(holders).hasSize(1);
      assertThat(ceph.ceph("osd", "blocklist", "ls"))
          .contains(holders.get(0).replaceFirst("^v\\d:", ""));
    }
    // The next client breaks the lock, once the OSDs know.
    try (RbdImage next = open()) {
      next.write(0, next.read(0, 512));
    }
  }

  @Test
  void anErrorOfOneDiscardShutsTheClientOutThatSentTheOthers() {
    fill(true);
    String user = "nodata";
    ceph.ceph(
        "auth",
        "get-or-create",
        "client." + user,
        "mon",
        "profile rbd",
        "osd",
        "profile rbd pool=" + ceph.pool() + ", allow r pool=" + ceph.otherPool());
    ReclaimTarget target = new TestTarget(ceph, pool, name, user);

    assertThatThrownBy(
            () ->
                operate(operation -> reclaimer.reclaim(target, ReclaimPlan.parse(TRIM), operation)))
        .hasRootCauseInstanceOf(CephException.class)
        .rootCause()
        .isNotInstanceOf(CephException.TimedOut.class)
        .hasMessageContaining("rbd_aio_discard");
    assertShutOut();
  }

  @Test
  void anErrorOfTheProgramShutsTheClientOutThatSentDiscards() {
    fill(false);
    try (ReclaimTarget.Writable target = target().open(Map.of())) {
      assertThatThrownBy(
              () ->
                  operate(
                      operation -> {
                        trim(target, operation);
                        return "";
                      }))
          .hasRootCauseMessage("after a discard");
      assertShutOut();
    }
  }

  private void trim(ReclaimTarget.Writable target, Operation operation) {
    ClusterLoad.Limits limits =
        new ClusterLoad.Limits(Duration.ofSeconds(1), Duration.ofMillis(300));
    try (ClusterHealth health = ClusterHealth.watch(cluster, limits.poll())) {
      new ReclaimWork(
              target,
              Optional.empty(),
              new ReclaimLock(target.image(), cluster),
              List.of(),
              ReclaimPlan.parse(TRIM),
              operation,
              new ClusterLoad(health, operation, limits),
              () -> {
                if (operation.percent() > 0) {
                  throw new IllegalStateException("after a discard");
                }
                return false;
              })
          .run();
    }
  }
}
