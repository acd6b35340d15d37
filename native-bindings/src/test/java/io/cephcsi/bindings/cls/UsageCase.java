package io.cephcsi.bindings.cls;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.bindings.cls.ImageUsage.Method;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.RbdCase;
import io.cephcsi.bindings.rbd.RbdImage;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;

/** What the tests of usage share: the numbers of {@code rbd du}, and images to measure. */
abstract class UsageCase extends RbdCase {
  static final long SEED = 20260;
  static final UsageQuery EVERYTHING = new UsageQuery(false, true, Long.MAX_VALUE);
  static final UsageQuery EXACT = new UsageQuery(true, false, Long.MAX_VALUE);

  UsageMeter meter;

  @BeforeEach
  void makeMeter() {
    meter = new UsageMeter(pool);
  }

  /** The numbers of {@code rbd du}: by snapshot name, the head with an empty one, and the total. */
  Map<String, Long> diskUsage(String... options) {
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

  static Map<String, Long> asDiskUsage(ImageUsage usage) {
    Map<String, Long> numbers = new LinkedHashMap<>();
    usage.snapshots().forEach(snapshot -> numbers.put(snapshot.name(), snapshot.bytes()));
    numbers.put("", usage.sinceSnapshotBytes());
    numbers.put("total", usage.totalBytes());
    return numbers;
  }

  String id() {
    return ImageId.find(pool, name).orElseThrow();
  }

  void assertSameAsDiskUsage(Method method) {
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

  static ImageOptions.Builder mapped(int objectSize) {
    return ImageOptions.builder().features(MAPPED).objectSizeBytes(objectSize);
  }

  /** Writes short pieces at random places, and discards some objects again. */
  static void scribble(RbdImage image, int pieces, long seed) {
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

  static Set<ImageFeature> with(Set<ImageFeature> some, ImageFeature other) {
    Set<ImageFeature> all = new HashSet<>(some);
    all.add(other);
    return all;
  }
}
