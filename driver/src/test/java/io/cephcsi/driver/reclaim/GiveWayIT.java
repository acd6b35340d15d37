package io.cephcsi.driver.reclaim;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.reclaim.ReclaimResult.Outcome;
import io.cephcsi.driver.testing.FileSystemImage;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** Somebody comes while an image is trimmed. */
class GiveWayIT extends LitterCase {
  private static final Map<String, String> TRIM = Map.of("reclaim.method", "trim");

  /** Writes as somebody does who wants in: until it is let. */
  private static long writeWhenLetIn(RbdImage image, long at, byte[] data) {
    long start = System.nanoTime();
    while (true) {
      try {
        image.write(at, data);
        return System.nanoTime() - start;
      } catch (CephException e) {
        assertThat(e.errno()).isEqualTo(Errno.EROFS);
        assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(30));
      }
    }
  }

  @Test
  void aNewcomersDataIsNeverTouched() throws Exception {
    long rounds = setting("CEPH_CSI_TEST_ROUNDS", full() ? 1000 : 30);
    FileSystemImage files = files();
    String checksums = files.checksums();
    Random random = new Random(setting("CEPH_CSI_TEST_SEED", 5));
    List<Long> waited = new ArrayList<>();
    int gaveWay = 0;
    for (long round = 0; round < rounds; round++) {
      List<Long> free = litter();
      CompletableFuture<ReclaimResult> trim = reclaimAside(TRIM);
      long moment = random.nextInt(1_200);
      Awaitility.await()
          .pollDelay(Duration.ofMillis(moment))
          .pollInterval(Duration.ofMillis(5))
          .atMost(Duration.ofSeconds(30))
          .until(() -> true);
      long[] places = random.longs(8, 0, free.size()).map(i -> free.get((int) i)).toArray();
      byte[] data = new byte[64 << 10];
      random.nextBytes(data);
      try (RbdImage newcomer = otherPool.open(name)) {
        long nanos = writeWhenLetIn(newcomer, places[0], data);
        if (!trim.isDone() || trim.join().outcome() == Outcome.GAVE_WAY) {
          waited.add(nanos);
        }
        for (long place : places) {
          writeWhenLetIn(newcomer, place, data);
        }
        newcomer.flush();
        ReclaimResult result = trim.get(60, TimeUnit.SECONDS);
        gaveWay += result.outcome() == Outcome.GAVE_WAY ? 1 : 0;
        for (long place : places) {
          assertThat(newcomer.read(place, data.length)).isEqualTo(data);
        }
      }
      if (round % 10 == 9) {
        try (RbdImage image = pool.openReadOnly(name)) {
          files.readFrom(image);
        }
        files.check();
        assertThat(files.checksums()).isEqualTo(checksums);
        print(gaveWay, round + 1, waited);
      }
    }
    assertThat(gaveWay).isPositive();
  }

  private static boolean full() {
    return "full".equals(System.getenv("CEPH_CSI_TEST_CAMPAIGN"));
  }

  /** The variable's number; a seed of ci/test is one of 32 bits without a sign. */
  private static long setting(String variable, long otherwise) {
    String given = System.getenv(variable);
    return given == null || given.isEmpty() ? otherwise : Long.parseLong(given);
  }

  private static void print(int gaveWay, long rounds, List<Long> waited) {
    long[] millis = waited.stream().mapToLong(TimeUnit.NANOSECONDS::toMillis).sorted().toArray();
    if (millis.length > 0) {
      System.out.printf(
          "%d of %d trims gave way; a newcomer's first write after opening: median %d ms,"
              + " 99 of 100 %d ms, worst %d ms (%d waited)%n",
          gaveWay,
          rounds,
          millis[millis.length / 2],
          millis[millis.length * 99 / 100],
          millis[millis.length - 1],
          millis.length);
    }
  }

  @Test
  void aClientThatIsShutOutEndsAtOnceAndOthersCanGoOn() throws Exception {
    files();
    litter();
    long used = used();
    CompletableFuture<ReclaimResult> trim =
        reclaimAside(Map.of("reclaim.method", "trim", "reclaim.maxBytesPerSecond", "33554432"));
    Awaitility.await().pollInterval(Duration.ofMillis(20)).until(() -> used() < used);
    try (RbdImage image = otherPool.openReadOnly(name)) {
      otherCluster.blocklist(image.watchers().get(0).address(), Duration.ofSeconds(60));
    }
    ReclaimResult result = trim.get(60, TimeUnit.SECONDS);
    assertThat(result.outcome()).isEqualTo(Outcome.GAVE_WAY);
    assertThat(result.reason()).isNotEmpty();
    assertThat(result.after()).hasValue(used());
    try (RbdImage next = otherPool.open(name)) {
      next.write(0, next.read(0, 512));
    }
  }

  /** It takes half a minute: librbd asks for each of half a million objects. */
  @Test
  void aNewcomerDoesNotWaitUntilAllObjectsOfAnImageWithoutAMapAreAskedFor() throws Exception {
    FileSystemImage files = FileSystemImage.make(folder, "ext4", 64L * MIB);
    pool.create(
        name,
        2L << 40,
        ImageOptions.builder()
            .features(Set.of(ImageFeature.LAYERING, ImageFeature.EXCLUSIVE_LOCK))
            .build());
    try (RbdImage image = open()) {
      files.writeTo(image);
    }
    CompletableFuture<ReclaimResult> trim = reclaimAside(TRIM);
    Awaitility.await()
        .pollInterval(Duration.ofMillis(10))
        .until(() -> operations.running().stream().anyMatch(o -> o.phase().equals("trim")));
    TimeUnit.MILLISECONDS.sleep(500);
    assertThat(trim).isNotDone();
    long start = System.nanoTime();
    try (RbdImage newcomer = otherPool.open(name)) {
      assertThat(trim.get(60, TimeUnit.SECONDS).outcome()).isEqualTo(Outcome.GAVE_WAY);
      assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(10));
      newcomer.write(0, newcomer.read(0, 512));
    }
  }

  @Test
  void anImageWithoutAMapThatHasTooManyObjectsIsNotTrimmed() {
    FileSystemImage files = FileSystemImage.make(folder, "ext4", 64L * MIB);
    pool.create(
        name,
        17L << 40,
        ImageOptions.builder()
            .features(Set.of(ImageFeature.LAYERING, ImageFeature.EXCLUSIVE_LOCK))
            .build());
    try (RbdImage image = open()) {
      files.writeTo(image);
    }
    ReclaimResult result = reclaimed(reclaim(TRIM));
    assertThat(result.trim().reason()).isEqualTo("too_large");
    assertThat(result.trim().detail()).contains("no valid object map of 8 MiB");
    assertThat(result.trim().fileSystem()).isEqualTo("ext4");
  }

  @Test
  void anImageThatIsOpenIsNotTrimmed() {
    files();
    litter();
    long before = used();
    try (RbdImage user = otherPool.open(name)) {
      ReclaimResult result = reclaim(TRIM);
      assertThat(result.outcome()).isEqualTo(Outcome.SKIPPED);
      assertThat(result.trim().reason()).isEqualTo("in_use");
      assertThat(user.size()).isEqualTo(SIZE);
    }
    assertThat(used()).isEqualTo(before);
  }
}
