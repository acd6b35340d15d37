package io.cephcsi.benchmarks;

import io.cephcsi.bindings.rbd.ImageUsage;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.UsageMeter;
import io.cephcsi.bindings.rbd.UsageQuery;
import java.io.IOException;
import java.util.Arrays;
import java.util.Optional;

/**
 * How long does it take to measure an image of 1 TiB by its object map, by fast diff and exactly,
 * beside the walk in C? Takes turns, so that both meet the same machine.
 */
final class UsageRates {
  private static final String IMAGE = "usage-rates";
  private static final int MAP_READS = 500;

  private UsageRates() {}

  /**
   * Prints a line for each way.
   *
   * @param args the built diff.c, how many objects exist (200000), how many rounds (7)
   */
  public static void main(String[] args) throws IOException, InterruptedException {
    int objects = args.length > 1 ? Integer.parseInt(args[1]) : 200_000;
    int rounds = args.length > 2 ? Integer.parseInt(args[2]) : 7;
    long size = 1L << 40;
    try (RbdImages images = RbdImages.connect()) {
      images.make(IMAGE, size);
      long step = size / RbdImages.OBJECT_BYTES / objects * RbdImages.OBJECT_BYTES;
      images.write(IMAGE, RbdImages.objects(objects, step), new byte[512]);
      byObjectMap(images, (long) objects * RbdImages.OBJECT_BYTES);
      byDiff(images, args[0], rounds, true);
      byDiff(images, args[0], Math.min(rounds, 3), false);
      images.remove(IMAGE);
    }
  }

  private static void byObjectMap(RbdImages images, long expected)
      throws IOException, InterruptedException {
    UsageMeter meter = new UsageMeter(images.pool);
    String id = images.pool.imageId(IMAGE).orElseThrow();
    double[] millis = new double[MAP_READS];
    for (int i = 0; i < millis.length; i++) {
      millis[i] =
          Baseline.millis(
              () -> {
                ImageUsage usage = meter.measure(id, UsageQuery.QUICK).orElseThrow();
                if (usage.headBytes() != expected
                    || usage.method() != ImageUsage.Method.OBJECT_MAP) {
                  throw new IllegalStateException("not " + expected + ": " + usage);
                }
              });
    }
    Arrays.sort(millis);
    System.out.printf(
        "object map: best %.3f ms, median %.3f ms%n", millis[0], millis[millis.length / 2]);
  }

  private static void byDiff(RbdImages images, String baseline, int rounds, boolean whole)
      throws IOException, InterruptedException {
    double[] java = new double[rounds];
    double[] c = new double[rounds];
    try (RbdImage image = images.pool.openReadOnly(IMAGE)) {
      for (int i = 0; i < rounds; i++) {
        java[i] = Baseline.millis(() -> walk(image, whole));
        c[i] =
            Baseline.run(
                baseline, images.conf.toString(), RbdImages.POOL, IMAGE, whole ? "1" : "0", "1");
      }
    }
    System.out.printf(
        "%s: %.1f ms, C %.1f, ratio %.2f%n",
        whole ? "fast diff" : "exact diff",
        Baseline.median(java),
        Baseline.median(c),
        Baseline.median(java) / Baseline.median(c));
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
