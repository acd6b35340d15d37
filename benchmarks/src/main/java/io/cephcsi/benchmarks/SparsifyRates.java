package io.cephcsi.benchmarks;

import io.cephcsi.bindings.rbd.RbdImage;
import java.io.IOException;

/**
 * How many objects of zeroes a second does sparsify free, beside {@code rbd sparsify}? Both call
 * the same function of librbd; the command's start counts. Takes turns.
 */
final class SparsifyRates {
  private static final String IMAGE = "sparsify-rates";
  private static final int SPARSE_SIZE = 4096;

  private SparsifyRates() {}

  /**
   * Prints one line.
   *
   * @param args how many objects (4000), how many rounds (5)
   */
  public static void main(String[] args) throws IOException, InterruptedException {
    int objects = args.length > 0 ? Integer.parseInt(args[0]) : 4000;
    int rounds = args.length > 1 ? Integer.parseInt(args[1]) : 5;
    try (RbdImages images = RbdImages.connect()) {
      images.make(IMAGE, (long) objects * RbdImages.OBJECT_BYTES);
      double[] java = new double[rounds];
      double[] command = new double[rounds];
      for (int i = 0; i < rounds; i++) {
        fill(images, objects);
        java[i] = Baseline.millis(() -> sparsify(images));
        fill(images, objects);
        command[i] =
            Baseline.millis(
                () ->
                    Baseline.run(
                        "rbd",
                        "-c",
                        images.conf.toString(),
                        "sparsify",
                        "--no-progress",
                        "--sparse-size",
                        Integer.toString(SPARSE_SIZE),
                        RbdImages.POOL + "/" + IMAGE));
      }
      System.out.printf(
          "%d objects: %.0f objects/s, rbd sparsify %.0f, ratio %.2f%n",
          objects,
          1e3 * objects / Baseline.median(java),
          1e3 * objects / Baseline.median(command),
          Baseline.median(command) / Baseline.median(java));
      images.remove(IMAGE);
    }
  }

  private static void fill(RbdImages images, int objects) {
    images.write(IMAGE, RbdImages.objects(objects, RbdImages.OBJECT_BYTES), new byte[64 << 10]);
  }

  /** With progress, as reclaim does it. */
  private static void sparsify(RbdImages images) {
    try (RbdImage image = images.pool.open(IMAGE)) {
      image.sparsify(SPARSE_SIZE, (done, total) -> true);
    }
  }
}
