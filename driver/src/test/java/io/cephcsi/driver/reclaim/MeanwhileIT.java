package io.cephcsi.driver.reclaim;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.reclaim.ReclaimResult.Outcome;
import io.cephcsi.driver.testing.FileSystemImage;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** What administrators do to an image while it is trimmed, by the command rbd. */
class MeanwhileIT extends LitterCase {
  private static final Map<String, String> SLOW_TRIM =
      Map.of("reclaim.method", "trim", "reclaim.maxBytesPerSecond", "67108864");

  private CompletableFuture<ReclaimResult> trimThatHasBegun() {
    long before = used();
    CompletableFuture<ReclaimResult> trim = reclaimAside(SLOW_TRIM);
    Awaitility.await()
        .atMost(Duration.ofSeconds(30))
        .pollInterval(Duration.ofMillis(20))
        .until(() -> used() < before || trim.isDone());
    assertThat(trim).isNotDone();
    return trim;
  }

  private String spec() {
    return ceph.pool() + "/" + name;
  }

  private void assertGaveWay(CompletableFuture<ReclaimResult> trim) throws Exception {
    ReclaimResult result = trim.get(30, TimeUnit.SECONDS);
    assertThat(result.outcome()).isEqualTo(Outcome.GAVE_WAY);
    assertThat(result.reason()).isNotEmpty();
  }

  /** Who has the image open for less than the watch looks away is not seen, and cannot write. */
  private static void assertEndedWell(CompletableFuture<ReclaimResult> trim) throws Exception {
    assertThat(trim.get(60, TimeUnit.SECONDS).outcome()).isIn(Outcome.GAVE_WAY, Outcome.DONE);
  }

  private void assertComplete(FileSystemImage files, String checksums) {
    try (RbdImage image = pool.openReadOnly(name)) {
      files.readFrom(image);
    }
    files.check();
    assertThat(files.checksums()).isEqualTo(checksums);
  }

  @Test
  void aSnapshotThatIsTakenHoldsACompleteFileSystem() throws Exception {
    FileSystemImage files = files();
    String checksums = files.checksums();
    litter();
    CompletableFuture<ReclaimResult> trim = trimThatHasBegun();
    ceph.rbd("snap", "create", "--no-progress", spec() + "@meanwhile");
    assertEndedWell(trim);
    try (RbdImage then = pool.openReadOnly(name, "meanwhile")) {
      files.readFrom(then);
    }
    files.check();
    assertThat(files.checksums()).isEqualTo(checksums);
    assertComplete(files, checksums);
    // The next one takes the snapshot into account.
    assertThat(reclaim(Map.of("reclaim.method", "trim")).outcome()).isEqualTo(Outcome.DONE);
    assertComplete(files, checksums);
  }

  @Test
  void aRollbackIsNotTrimmedByThePlanOfTheNewerFileSystem() throws Exception {
    FileSystemImage files = files();
    // The older one has data where the newer one has nothing.
    files.mounted("for i in $(seq 100); do head -c 3000000 /dev/urandom > old$i; done");
    String older = files.checksums();
    try (RbdImage image = open()) {
      files.writeTo(image);
      image.snapshots().create("older");
    }
    files.mounted("rm old*");
    try (RbdImage image = open()) {
      files.writeTo(image);
    }
    litter();
    CompletableFuture<ReclaimResult> trim = trimThatHasBegun();
    // The lock keeps it out until the trim has given way.
    Awaitility.await()
        .atMost(Duration.ofMinutes(3))
        .ignoreExceptions()
        .until(
            () -> {
              ceph.rbd("snap", "rollback", "--no-progress", spec() + "@older");
              return true;
            });
    assertGaveWay(trim);
    assertComplete(files, older);
  }

  @Test
  void anImageThatGrowsKeepsItsFileSystem() throws Exception {
    FileSystemImage files = files();
    String checksums = files.checksums();
    litter();
    CompletableFuture<ReclaimResult> trim = trimThatHasBegun();
    ceph.rbd("resize", "--no-progress", "--size", "2G", spec());
    assertEndedWell(trim);
    try (RbdImage image = pool.openReadOnly(name)) {
      assertThat(image.size()).isEqualTo(2 * SIZE);
    }
    assertComplete(files, checksums);
  }

  /** The lock is a plain lock on the header: whoever breaks that one shuts nobody out. */
  @Test
  void aLockThatIsTakenAwayBehindItsBackEndsTheTrim() throws Exception {
    FileSystemImage files = files();
    String checksums = files.checksums();
    litter();
    String header = "rbd_header." + ImageId.find(pool, name).orElseThrow();
    CompletableFuture<ReclaimResult> trim = trimThatHasBegun();
    JsonNode lock =
        new ObjectMapper()
            .readTree(
                ceph.rados(
                    "-p", ceph.pool(), "lock", "info", header, "rbd_lock", "--format", "json"))
            .get("lockers")
            .get(0);
    ceph.rados(
        "-p",
        ceph.pool(),
        "lock",
        "break",
        header,
        "rbd_lock",
        lock.get("name").asText(),
        "--lock-cookie",
        lock.get("cookie").asText());
    assertGaveWay(trim);
    assertThat(trim.join().reason()).contains("lock");
    assertComplete(files, checksums);
    try (RbdImage next = otherPool.open(name)) {
      next.write(0, next.read(0, 512));
    }
  }

  @Test
  void anImageThatIsRenamedIsStillTheSame() throws Exception {
    FileSystemImage files = files();
    String checksums = files.checksums();
    litter();
    CompletableFuture<ReclaimResult> trim = trimThatHasBegun();
    ceph.rbd("rename", spec(), spec() + "-renamed");
    assertEndedWell(trim); // the client that renames has the image open
    name = name + "-renamed";
    assertComplete(files, checksums);
    assertThat(reclaim(Map.of("reclaim.method", "trim")).outcome()).isEqualTo(Outcome.DONE);
    assertComplete(files, checksums);
  }
}
