package io.cephcsi.benchmarks;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.DiscardPipeline;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import java.io.IOException;

/**
 * How many discards of whole objects a second do the pipeline and the same in C reach, with 1, 16,
 * 64 and 256 in flight? Takes turns, so that both meet the same machine.
 */
final class DiscardRates {
  private static final String IMAGE = "discard-rates";

  private DiscardRates() {}

  /**
   * Prints a line for each depth.
   *
   * @param args the built discards.c, how many objects (2000), how many rounds (5)
   */
  public static void main(String[] args) throws IOException, InterruptedException {
    int objects = args.length > 1 ? Integer.parseInt(args[1]) : 2000;
    int rounds = args.length > 2 ? Integer.parseInt(args[2]) : 5;
    try (RbdImages images = RbdImages.connect()) {
      images.make(IMAGE, (long) objects * RbdImages.OBJECT_BYTES);
      for (int depth : new int[] {1, 16, 64, 256}) {
        double[] java = new double[rounds];
        double[] c = new double[rounds];
        for (int round = 0; round < rounds; round++) {
          fill(images, objects);
          java[round] = objects / discard(images, objects, depth);
          fill(images, objects);
          c[round] =
              Baseline.run(
                  args[0], images.conf.toString(), RbdImages.POOL, IMAGE, Integer.toString(depth));
        }
        System.out.printf(
            "%d in flight: %.0f discards/s, C %.0f, ratio %.2f%n",
            depth,
            Baseline.median(java),
            Baseline.median(c),
            Baseline.median(java) / Baseline.median(c));
      }
      images.remove(IMAGE);
    }
  }

  private static void fill(RbdImages images, int objects) {
    images.write(IMAGE, RbdImages.objects(objects, RbdImages.OBJECT_BYTES), new byte[512]);
  }

  /** In seconds; over a new connection, as the baseline has it. */
  private static double discard(RbdImages images, int objects, int depth) {
    try (RadosCluster cluster = RbdImages.connection(images.conf);
        IoContext io = cluster.openPool(RbdImages.POOL);
        RbdImage image = new RbdPool(io).open(IMAGE)) {
      image.lock().acquire();
      long start = System.nanoTime();
      try (DiscardPipeline pipeline = image.discardPipeline(depth)) {
        for (int i = 0; i < objects; i++) {
          pipeline.discard((long) i * RbdImages.OBJECT_BYTES, RbdImages.OBJECT_BYTES);
        }
        pipeline.drain();
      }
      double seconds = (System.nanoTime() - start) / 1e9;
      image.lock().release();
      return seconds;
    }
  }
}
