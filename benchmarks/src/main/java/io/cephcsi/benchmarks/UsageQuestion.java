package io.cephcsi.benchmarks;

import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.ImageUsage;
import io.cephcsi.bindings.cls.UsageMeter;
import io.cephcsi.bindings.cls.UsageQuery;
import io.cephcsi.bindings.rbd.RbdImage;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * How long does it take to measure an image of 1 TiB by its object map, by fast diff and exactly,
 * beside the walk in C, and how does that grow with the objects that exist?
 */
final class UsageQuestion implements Question {
  private static final String IMAGE = "bench-usage";
  private static final long SIZE = 1L << 40;
  private static final int MAP_READS = 300;

  @Override
  public List<Finding> ask(BenchSetup setup) throws IOException, InterruptedException {
    List<Finding> findings = new ArrayList<>();
    int[] counts =
        setup.quick() ? new int[] {1000, 10_000} : new int[] {1000, 10_000, 50_000, 200_000};
    int largest = counts[counts.length - 1];
    try (RbdImages images = RbdImages.connect(setup.conf())) {
      for (int objects : counts) {
        images.make(IMAGE, SIZE);
        images.write(
            IMAGE,
            RbdImages.objects(
                objects, SIZE / RbdImages.OBJECT_BYTES / objects * RbdImages.OBJECT_BYTES),
            new byte[512]);
        findings.add(byObjectMap(setup, images, objects));
        Finding fast = byDiff(setup, images, objects, true);
        findings.add(objects == largest ? fast.atLeast(Finding.C, 1 / 2.2) : fast);
        if (!setup.quick() && objects == 10_000) { // asks all 262,144 objects: 15 s
          findings.add(byDiff(setup, images, objects, false));
        }
      }
      images.remove(IMAGE);
    }
    return findings;
  }

  private static Finding byObjectMap(BenchSetup setup, RbdImages images, int objects)
      throws IOException, InterruptedException {
    UsageMeter meter = new UsageMeter(images.pool);
    String id = ImageId.find(images.pool, IMAGE).orElseThrow();
    long expected = (long) objects * RbdImages.OBJECT_BYTES;
    double[] millis = new double[MAP_READS];
    for (int i = -MAP_READS; i < MAP_READS; i++) {
      millis[Math.max(i, 0)] =
          1e3
              * setup.seconds(
                  () -> {
                    ImageUsage usage = meter.measure(id, UsageQuery.QUICK).orElseThrow();
                    if (usage.headBytes() != expected
                        || usage.method() != ImageUsage.Method.OBJECT_MAP) {
                      throw new IllegalStateException("not " + expected + ": " + usage);
                    }
                  });
    }
    return Finding.time(
            "usage-map-" + objects,
            "usage of 1 TiB with " + objects + " objects, by object map",
            "ms",
            millis)
        .withinItself(1);
  }

  private static Finding byDiff(BenchSetup setup, RbdImages images, int objects, boolean whole)
      throws IOException, InterruptedException {
    int rounds = whole ? setup.scaled(9, 5) : 3;
    double[] java = new double[rounds];
    double[] c = new double[rounds];
    try (RbdImage image = images.pool.openReadOnly(IMAGE)) {
      for (int i = -1; i < rounds; i++) {
        int at = Math.max(i, 0);
        java[at] = 1e3 * setup.seconds(() -> walk(image, whole));
        c[at] =
            Baseline.run(
                setup.program("diff"),
                images.conf.toString(),
                RbdImages.POOL,
                IMAGE,
                whole ? "1" : "0",
                "1");
      }
    }
    String how = whole ? "fast diff" : "exact diff";
    return Finding.time(
            "usage-" + (whole ? "fast-" : "exact-") + objects,
            "usage of 1 TiB with " + objects + " objects, by " + how,
            "ms",
            java)
        .beside(Finding.C, c);
  }

  private static void walk(RbdImage image, boolean whole) {
    long[] bytes = {0};
    image.diff(
        Optional.empty(),
        0,
        image.size(),
        false,
        whole,
        (offset, length, exists) -> {
          bytes[0] += exists ? length : 0;
          return true;
        });
    if (bytes[0] == 0) {
      throw new IllegalStateException("nothing was found");
    }
  }
}
