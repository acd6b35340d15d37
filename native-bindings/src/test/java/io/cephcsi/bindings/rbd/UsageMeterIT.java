package io.cephcsi.bindings.rbd;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.bindings.rbd.ImageUsage.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class UsageMeterIT extends RbdCase {
  private static final long SEED = 20260;
  private static final UsageQuery EVERYTHING = new UsageQuery(false, true, Long.MAX_VALUE);
  private static final UsageQuery EXACT = new UsageQuery(true, false, Long.MAX_VALUE);

  private UsageMeter meter;

  @BeforeEach
  void makeMeter() {
    meter = new UsageMeter(pool);
  }

  /** The numbers of {@code rbd du}: by snapshot name, the head with an empty one, and the total. */
  private Map<String, Long> diskUsage(String... options) {
    List<String> args = new ArrayList<>(List.of("du", spec()));
    args.addAll(List.of(options));
    JsonNode said = rbdJson(args.toArray(new String[0]));
    Map<String, Long> usage = new LinkedHashMap<>();
    for (JsonNode image : said.get("images")) {
      usage.put(image.path("snapshot").asText(""), image.get("used_size").asLong());
    }
    usage.put("total", usage.values().stream().mapToLong(Long::longValue).sum());
    return usage;
  }

  private static Map<String, Long> asDiskUsage(ImageUsage usage) {
    Map<String, Long> numbers = new LinkedHashMap<>();
    usage.snapshots().forEach(snapshot -> numbers.put(snapshot.name(), snapshot.bytes()));
    numbers.put("", usage.sinceSnapshotBytes());
    numbers.put("total", usage.totalBytes());
    return numbers;
  }

  private String id() {
    return pool.imageId(name).orElseThrow();
  }

  private void assertSameAsDiskUsage(Method method) {
    ImageUsage usage = meter.measure(id(), EVERYTHING).orElseThrow();
    assertThat(usage.method()).isEqualTo(method);
    assertThat(asDiskUsage(usage)).isEqualTo(diskUsage());
    try (RbdImage image = pool.openReadOnly(name)) {
      long[] head = {0};
      image.diff(
          Optional.empty(),
          0,
          image.size(),
          false,
          true,
          (offset, length, exists) -> {
            head[0] += exists ? length : 0;
            return true;
          });
      assertThat(usage.headBytes()).isEqualTo(head[0]);
      assertThat(usage.sizeBytes()).isEqualTo(image.size());
    }
    ImageUsage exact = meter.measure(id(), EXACT).orElseThrow();
    assertThat(exact.method()).isEqualTo(Method.EXACT_DIFF);
    assertThat(asDiskUsage(exact)).isEqualTo(diskUsage("--exact"));
  }

  private static ImageOptions.Builder mapped(int objectSize) {
    return ImageOptions.builder().features(MAPPED).objectSizeBytes(objectSize);
  }

  /** Writes short pieces at random places, and discards some objects again. */
  private static void scribble(RbdImage image, int pieces, long seed) {
    Random random = new Random(seed);
    long objectSize = image.info().objectSize();
    for (int i = 0; i < pieces; i++) {
      long at = (long) (random.nextDouble() * (image.size() - 512));
      image.write(at, filled(512, 1 + random.nextInt(200)));
      if (i % 5 == 4) {
        image.discard(at / objectSize * objectSize, objectSize);
      }
    }
    image.flush();
  }

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

  private static Set<ImageFeature> with(Set<ImageFeature> some, ImageFeature other) {
    Set<ImageFeature> all = new HashSet<>(some);
    all.add(other);
    return all;
  }

  @Test
  void dataInAnotherPoolIsMeasuredAsByTheCommand() {
    pool.create(name, 50L * OBJECT, mapped(OBJECT).dataPool("rbd-data").build());
    try (RbdImage image = pool.open(name)) {
      scribble(image, 60, SEED);
    }
    assertSameAsDiskUsage(Method.OBJECT_MAP);
  }

  @Test
  void withoutAnObjectMapEveryObjectIsAskedIfAllowed() {
    create(LOCKED, 50);
    try (RbdImage image = pool.open(name)) {
      scribble(image, 30, SEED);
    }
    assertThat(meter.byObjectMap(id())).isEmpty();
    assertThat(meter.measure(id(), UsageQuery.QUICK)).isEmpty();
    assertSameAsDiskUsage(Method.FULL_WALK);
  }

  @Test
  void withoutFastDiffTheObjectMapIsNotUsed() {
    create(MAPPED, 50);
    try (RbdImage image = pool.open(name)) {
      image.updateFeatures(Set.of(ImageFeature.FAST_DIFF), false);
      scribble(image, 30, SEED);
    }
    assertThat(meter.byObjectMap(id())).isEmpty();
    assertSameAsDiskUsage(Method.FULL_WALK);
  }

  @Test
  void aDamagedMapIsNotBelieved() {
    create(MAPPED, 50);
    try (RbdImage image = pool.open(name)) {
      scribble(image, 30, SEED);
    }
    byte[] stored = io.read(ObjectMap.object(id(), 0), 0, 4096);
    assertThat(ObjectMap.decode(stored, 50)).isPresent();
    for (int bit = 18 * 8; bit < (18 + 13) * 8; bit++) {
      byte[] damaged = stored.clone();
      damaged[bit / 8] ^= (byte) (1 << bit % 8);
      assertThat(ObjectMap.decode(damaged, 50)).as("bit %s", bit).isEmpty();
    }
    io.writeFull(ObjectMap.object(id(), 0), new byte[] {1, 2, 3});
    assertThat(meter.byObjectMap(id())).isEmpty();
    // librbd finds the damage too, and marks the map as not valid: then objects are asked.
    ImageUsage usage = meter.measure(id(), EVERYTHING).orElseThrow();
    assertThat(usage.method()).isNotEqualTo(Method.OBJECT_MAP);
    assertThat(asDiskUsage(usage)).isEqualTo(diskUsage());
  }

  @Test
  void aMapMarkedAsNotValidIsNotBelieved() {
    create(MAPPED, 50);
    try (RbdImage image = pool.open(name)) {
      scribble(image, 30, SEED);
    }
    io.truncate(ObjectMap.object(id(), 0), 3);
    try (RbdImage image = pool.open(name)) {
      image.write(0, filled(512, 1)); // takes the lock, loads the map, finds it damaged
      image.flush();
      assertThat(image.flags()).contains(ImageFlag.OBJECT_MAP_INVALID);
    }
    assertThat(meter.byObjectMap(id())).isEmpty();
    assertSameAsDiskUsage(Method.FULL_WALK);
    try (RbdImage image = pool.open(name)) {
      image.rebuildObjectMap(Progress.NONE);
    }
    assertSameAsDiskUsage(Method.OBJECT_MAP);
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
    assertThat(nanos[0]).isLessThan(TimeUnit.MILLISECONDS.toNanos(campaign ? 1 : 3));
    assertThat(diskUsage()).containsEntry("total", (long) objects << 22);
  }
}
