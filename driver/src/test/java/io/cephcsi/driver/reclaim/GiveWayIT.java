package io.cephcsi.driver.reclaim;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdCompletion;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.reclaim.ReclaimResult.Outcome;
import io.cephcsi.driver.reclaim.fs.FileSystems;
import io.cephcsi.driver.reclaim.fs.Inspection;
import io.cephcsi.driver.testing.FileSystemImage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Somebody comes while an image is trimmed. */
class GiveWayIT extends ReclaimCase {
  private static final long SIZE = 1024L * MIB;
  private static final long SEED = 5;
  private static final Map<String, String> TRIM = Map.of("reclaim.method", "trim");

  private static RadosCluster otherCluster;
  private static IoContext otherIo;
  private static RbdPool otherPool;

  @TempDir Path folder;

  @BeforeAll
  static void connectNewcomer() {
    otherCluster = RadosCluster.connect(ceph.settings().option("rbd_cache", "false").build());
    otherIo = otherCluster.openPool(ceph.pool());
    otherPool = new RbdPool(otherIo);
  }

  @AfterAll
  static void disconnectNewcomer() {
    otherIo.close();
    otherCluster.close();
  }

  private FileSystemImage files() {
    FileSystemImage files = FileSystemImage.make(folder, "ext4", SIZE);
    files.mounted("for i in $(seq 60); do head -c 700000 /dev/urandom > f$i; done");
    pool.create(name, SIZE, options().objectSizeBytes(MIB).build());
    try (RbdImage image = open()) {
      files.writeTo(image);
    }
    return files;
  }

  /** Free ranges that are whole objects, with something in each, as deleted files leave it. */
  private List<Long> litter() {
    List<Long> objects = new ArrayList<>();
    try (RbdImage image = open()) {
      List<RbdCompletion> running = new ArrayList<>();
      Inspection.Clean clean = inspect(image);
      clean.freeRanges(
          range -> {
            for (long at = (range.offset() + MIB - 1) / MIB * MIB;
                at + MIB <= range.end();
                at += MIB) {
              objects.add(at);
              running.add(image.writeAsync(at, filled(512, 0x55)));
              if (running.size() == 32) {
                finish(running);
              }
            }
          });
      finish(running);
      image.flush();
    }
    return objects;
  }

  private static Inspection.Clean inspect(RbdImage image) {
    try {
      return (Inspection.Clean) FileSystems.inspect(new ImageReader(image));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void finish(List<RbdCompletion> running) {
    running.forEach(RbdCompletion::await);
    running.forEach(RbdCompletion::close);
    running.clear();
  }

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
    int rounds = "full".equals(System.getenv("CEPH_CSI_TEST_CAMPAIGN")) ? 1000 : 30;
    FileSystemImage files = files();
    String checksums = files.checksums();
    Random random = new Random(SEED);
    List<Long> waited = new ArrayList<>();
    int gaveWay = 0;
    for (int round = 0; round < rounds; round++) {
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
      }
    }
    long[] sorted = waited.stream().mapToLong(Long::longValue).sorted().toArray();
    System.out.printf(
        "a newcomer's first write after opening, %d of %d trims gave way: %s ms%n",
        gaveWay,
        rounds,
        Arrays.toString(Arrays.stream(sorted).map(TimeUnit.NANOSECONDS::toMillis).toArray()));
    assertThat(gaveWay).isPositive();
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
