package io.cephcsi.bindings.cls;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.cls.ImageUsage.Method;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.Progress;
import io.cephcsi.bindings.rbd.RbdCompletion;
import io.cephcsi.bindings.rbd.RbdImage;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class UsageMeterIT extends UsageCase {
  static Stream<Integer> objectSizes() {
    return Stream.of(4 << 10, 64 << 10, 1 << 20, 4 << 20, 32 << 20);
  }

  @ParameterizedTest
  @MethodSource("objectSizes")
  void anyObjectSizeAndAnOddImageSizeAreMeasuredAsByTheCommand(int objectSize) {
    pool.create(name, 300L * objectSize + 12_345, mapped(objectSize).build());
    try (RbdImage image = pool.open(name)) {
      scribble(image, 120, SEED);
      image.write(image.size() - 100, filled(100, 1));
      image.flush();
    }
    assertSameAsDiskUsage(Method.OBJECT_MAP);
  }

  @Test
  void snapshotsAreToldApartFromTheHead() {
    pool.create(name, 200L * OBJECT + 777, mapped(OBJECT).build());
    try (RbdImage image = pool.open(name)) {
      for (int i = 0; i < 4; i++) {
        scribble(image, 40, SEED + i);
        image.snapshots().create("s" + i);
      }
      image.snapshots().remove("s1");
      scribble(image, 20, SEED + 9);
    }
    assertSameAsDiskUsage(Method.OBJECT_MAP);
    ImageUsage usage = meter.byObjectMap(id()).orElseThrow();
    assertThat(usage.snapshots()).extracting(ImageUsage.OfSnapshot::name).hasSize(3);
    assertThat(usage.snapshotBytes()).isPositive();
  }

  @Test
  void whatOnlyOneSnapshotHoldsIsWhatItsRemovalFrees() {
    pool.create(name, 200L * OBJECT, mapped(OBJECT).build());
    List<String> names = new ArrayList<>();
    try (RbdImage image = pool.open(name)) {
      for (int i = 0; i < 6; i++) {
        scribble(image, 40, SEED + i);
        image.resize((200L + 10L * (i % 3)) * OBJECT, true, Progress.NONE);
        image.snapshots().create("s" + i);
        names.add("s" + i);
      }
      scribble(image, 20, SEED + 9);
      Collections.shuffle(names, new Random(SEED));
      for (String snapshot : names) {
        long before = meter.byObjectMap(id()).orElseThrow().totalBytes();
        long held = meter.bytesOnlyIn(id(), idOf(image, snapshot)).orElseThrow();
        image.snapshots().remove(snapshot);
        assertThat(before - meter.byObjectMap(id()).orElseThrow().totalBytes()).isEqualTo(held);
      }
    }
    assertThat(meter.bytesOnlyIn(id(), 999_999)).isEmpty();
  }

  private static long idOf(RbdImage image, String snapshot) {
    return image.snapshots().list().stream()
        .filter(each -> each.name().equals(snapshot))
        .findFirst()
        .orElseThrow()
        .id();
  }

  @Test
  void allThatIsDiscardedIsHeldBySnapshotsOnly() {
    pool.create(name, 20L * OBJECT, mapped(OBJECT).build());
    try (RbdImage image = pool.open(name)) {
      fill(image, 0, 10, 1);
      image.snapshots().create("s");
      image.discard(0, 10L * OBJECT);
      fill(image, 15, 2, 1);
    }
    assertSameAsDiskUsage(Method.OBJECT_MAP);
    ImageUsage usage = meter.byObjectMap(id()).orElseThrow();
    assertThat(usage.headBytes()).isEqualTo(2L * OBJECT);
    assertThat(usage.snapshotBytes()).isEqualTo(10L * OBJECT);
  }

  @Test
  void snapshotsOfSizesThatGrewAndShrankAreMeasuredAsByTheCommand() {
    pool.create(name, 100L * OBJECT + 5, mapped(OBJECT).build());
    try (RbdImage image = pool.open(name)) {
      scribble(image, 50, SEED);
      image.snapshots().create("small");
      image.resize(211L * OBJECT + 99, false, Progress.NONE);
      scribble(image, 50, SEED + 1);
      image.snapshots().create("large");
      image.resize(57L * OBJECT + 1000, true, Progress.NONE);
      scribble(image, 10, SEED + 2);
    }
    assertSameAsDiskUsage(Method.OBJECT_MAP);
  }

  @Test
  void aCloneCountsItsOwnBytesAndSaysWhatItInherits() {
    String parent = name + "-parent";
    pool.create(parent, 40L * OBJECT, mapped(OBJECT).build());
    try (RbdImage image = pool.open(parent)) {
      fill(image, 0, 20, 1);
      image.snapshots().create("s");
      image.snapshots().protect("s");
    }
    pool.cloneImage(parent, "s", pool, name, mapped(OBJECT).build());
    try (RbdImage image = pool.open(name)) {
      fill(image, 0, 3, 2);
      fill(image, 30, 2, 2);
    }
    assertSameAsDiskUsage(Method.OBJECT_MAP);
    ImageUsage usage = meter.measure(id(), EVERYTHING).orElseThrow();
    assertThat(usage.headBytes()).isEqualTo(5L * OBJECT);
    assertThat(usage.inheritedBytes()).hasValue(17L * OBJECT);
  }

  @ParameterizedTest
  @ValueSource(longs = {0, 1, 300_000, 9_999_999})
  void stripedImagesAreMeasuredAsByTheCommand(long odd) {
    pool.create(
        name,
        100L * OBJECT + odd,
        ImageOptions.builder()
            .features(with(MAPPED, ImageFeature.STRIPINGV2))
            .objectSizeBytes(OBJECT)
            .stripeUnit(64 << 10)
            .stripeCount(7)
            .build());
    try (RbdImage image = pool.open(name)) {
      scribble(image, 60, SEED);
      image.write(image.size() - 100, filled(100, 1));
      image.flush();
    }
    assertSameAsDiskUsage(Method.OBJECT_MAP);
  }

  @Test
  void dataInAnotherPoolIsMeasuredAsByTheCommand() {
    pool.create(name, 50L * OBJECT, mapped(OBJECT).dataPool("rbd-data").build());
    try (RbdImage image = pool.open(name)) {
      scribble(image, 60, SEED);
    }
    assertSameAsDiskUsage(Method.OBJECT_MAP);
  }

  /** All at once: sizes that change, snapshots, another pool for the data, a parent. */
  @ParameterizedTest
  @MethodSource("objectSizes")
  void aCloneWithAllThatAnImageCanHaveIsMeasuredAsByTheCommand(int objectSize) {
    String parent = name + "-parent";
    pool.create(parent, 40L * objectSize + 4096, mapped(objectSize).build());
    try (RbdImage image = pool.open(parent)) {
      scribble(image, 30, SEED);
      image.snapshots().create("s");
      image.snapshots().protect("s");
    }
    pool.cloneImage(parent, "s", pool, name, mapped(objectSize).dataPool("rbd-data").build());
    try (RbdImage image = pool.open(name)) {
      scribble(image, 10, SEED + 1);
      image.snapshots().create("one");
      image.resize(61L * objectSize + 777, false, Progress.NONE);
      scribble(image, 10, SEED + 2);
      image.snapshots().create("two");
      image.resize(23L * objectSize + 99, true, Progress.NONE);
      scribble(image, 5, SEED + 3);
    }
    assertSameAsDiskUsage(Method.OBJECT_MAP);
    try (RbdImage image = pool.open(name)) {
      image.flatten(Progress.NONE);
    }
    assertSameAsDiskUsage(Method.OBJECT_MAP);
  }

  @Test
  void stripedImagesWithSnapshotsAreMeasuredAsByTheCommand() {
    pool.create(
        name,
        60L * OBJECT + 12_345,
        ImageOptions.builder()
            .features(with(MAPPED, ImageFeature.STRIPINGV2))
            .objectSizeBytes(OBJECT)
            .stripeUnit(16 << 10)
            .stripeCount(5)
            .build());
    try (RbdImage image = pool.open(name)) {
      for (int i = 0; i < 3; i++) {
        scribble(image, 20, SEED + i);
        image.snapshots().create("s" + i);
        image.resize(image.size() + 3L * OBJECT + 1, false, Progress.NONE);
      }
      scribble(image, 10, SEED + 9);
    }
    assertSameAsDiskUsage(Method.OBJECT_MAP);
  }

  @Test
  void anImageThatIsOpenAndBeingWrittenIsMeasuredAsByTheCommand() {
    create(MAPPED, 200);
    try (RbdImage image = pool.open(name)) {
      for (int round = 0; round < 5; round++) {
        scribble(image, 25, SEED + round);
        image.write((long) round * OBJECT, filled(512, 1)); // not flushed
        if (round == 2) {
          image.snapshots().create("s");
        }
        assertSameAsDiskUsage(Method.OBJECT_MAP);
      }
    }
  }

  @Test
  void anImageBeingWrittenNeverHasLessThanWhatWasWrittenBefore() throws Exception {
    create(MAPPED, 400);
    String id = id();
    try (RbdImage image = pool.open(name)) {
      long[] before = {0};
      Thread writer =
          new Thread(
              () -> {
                for (int i = 0; i < 400; i++) {
                  image.write((long) i * OBJECT, filled(512, 1));
                }
              });
      writer.start();
      while (writer.isAlive()) {
        long now = meter.byObjectMap(id).orElseThrow().headBytes();
        assertThat(now).isGreaterThanOrEqualTo(before[0]);
        before[0] = now;
      }
      writer.join();
    }
    assertSameAsDiskUsage(Method.OBJECT_MAP);
  }

  @Test
  void noImageHasNoUsage() {
    assertThat(meter.byObjectMap("no-such-id-" + UUID.randomUUID())).isEmpty();
  }

  @Test
  void aTebibyteIsMeasuredInUnderAMillisecond() {
    boolean campaign = "full".equals(System.getenv("CEPH_CSI_TEST_CAMPAIGN"));
    int objects = campaign ? 200_000 : 2_000;
    long size = 1L << 40;
    pool.create(name, size, mapped(4 << 20).build());
    long step = (size >> 22) / objects;
    try (RbdImage image = pool.open(name)) {
      List<RbdCompletion> running = new ArrayList<>();
      for (int i = 0; i < objects; i++) {
        running.add(image.writeAsync((i * step) << 22, filled(512, 1)));
        if (running.size() == 64) {
          running.forEach(RbdCompletion::await);
          running.forEach(RbdCompletion::close);
          running.clear();
        }
      }
      running.forEach(RbdCompletion::await);
      running.forEach(RbdCompletion::close);
    }
    String id = id();
    long[] nanos = new long[300];
    for (int i = 0; i < nanos.length; i++) {
      long start = System.nanoTime();
      assertThat(meter.byObjectMap(id).orElseThrow().headBytes()).isEqualTo((long) objects << 22);
      nanos[i] = System.nanoTime() - start;
    }
    Arrays.sort(nanos);
    System.out.printf(
        "usage of 1 TiB, %d objects: best %d us, median %d us%n",
        objects,
        TimeUnit.NANOSECONDS.toMicros(nanos[0]),
        TimeUnit.NANOSECONDS.toMicros(nanos[150]));
    assertThat(nanos[0]).isLessThan(TimeUnit.MILLISECONDS.toNanos(campaign ? 1 : 20));
    assertThat(diskUsage()).containsEntry("total", (long) objects << 22);
  }
}
