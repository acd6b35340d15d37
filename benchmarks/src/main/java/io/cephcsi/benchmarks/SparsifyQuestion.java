package io.cephcsi.benchmarks;

import io.cephcsi.bindings.rbd.RbdImage;
import java.io.IOException;
import java.util.List;

/**
 * How many objects of zeroes a second does sparsify free, beside {@code rbd sparsify}? Both call
 * the same function of librbd; the command's start counts.
 */
final class SparsifyQuestion implements Question {
  private static final String IMAGE = "bench-sparsify";
  private static final int SPARSE_SIZE = 4096;

  @Override
  public List<Finding> ask(BenchSetup setup) throws IOException, InterruptedException {
    int objects = setup.scaled(4000, 800);
    int rounds = setup.scaled(5, 3);
    double[] ours = new double[rounds];
    double[] command = new double[rounds];
    try (RbdImages images = RbdImages.connect(setup.conf())) {
      images.make(IMAGE, (long) objects * RbdImages.OBJECT_BYTES);
      for (int i = 0; i < rounds; i++) {
        fill(images, objects);
        ours[i] = objects / setup.seconds(() -> sparsify(images));
        fill(images, objects);
        command[i] =
            1e3
                * objects
                / Baseline.millis(
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
      images.remove(IMAGE);
    }
    return List.of(
        Finding.rate("sparsify", "objects of zeroes sparsified", "objects/s", ours)
            .beside("rbd sparsify", command));
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
