package io.cephcsi.benchmarks;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.DiscardPipeline;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** How many discards of whole objects a second do the pipeline and the same in C reach? */
final class DiscardQuestion implements Question {
  private static final String IMAGE = "bench-discards";
  private static final int[] DEPTHS = {1, 16, 64, 256};

  @Override
  public List<Finding> ask(BenchSetup setup) throws IOException, InterruptedException {
    int objects = setup.scaled(2000, 400);
    int rounds = setup.scaled(7, 4);
    List<Finding> findings = new ArrayList<>();
    try (RbdImages images = RbdImages.connect(setup.conf())) {
      images.make(IMAGE, (long) objects * RbdImages.OBJECT_BYTES);
      for (int depth : DEPTHS) {
        double[] ours = new double[rounds];
        double[] c = new double[rounds];
        for (int round = 0; round < rounds; round++) {
          boolean first = round % 2 == 0; // neither side is always the one after a pause
          if (first) {
            ours[round] = objects / discard(setup, images, objects, depth);
          }
          fill(images, objects);
          c[round] =
              Baseline.run(
                  setup.program("discards"),
                  images.conf.toString(),
                  RbdImages.POOL,
                  IMAGE,
                  Integer.toString(depth));
          if (!first) {
            ours[round] = objects / discard(setup, images, objects, depth);
          }
        }
        Finding finding =
            Finding.rate("discard-" + depth, "discards, " + depth + " in flight", "1/s", ours)
                .beside(Finding.C, c);
        findings.add(depth == 64 ? finding.atLeast(Finding.C, 0.95) : finding);
      }
      images.remove(IMAGE);
    }
    return findings;
  }

  private static void fill(RbdImages images, int objects) {
    images.write(IMAGE, RbdImages.objects(objects, RbdImages.OBJECT_BYTES), new byte[512]);
  }

  /** In seconds; over a new connection, as the baseline has it. */
  private static double discard(BenchSetup setup, RbdImages images, int objects, int depth)
      throws IOException, InterruptedException {
    fill(images, objects);
    try (RadosCluster cluster = RbdImages.connection(images.conf);
        IoContext io = cluster.openPool(RbdImages.POOL);
        RbdImage image = new RbdPool(io).open(IMAGE)) {
      image.lock().acquire();
      double seconds = setup.seconds(() -> discard(image, objects, depth));
      image.lock().release();
      return seconds;
    }
  }

  private static void discard(RbdImage image, int objects, int depth) {
    try (DiscardPipeline pipeline = image.discardPipeline(depth)) {
      for (int i = 0; i < objects; i++) {
        pipeline.discard((long) i * RbdImages.OBJECT_BYTES, RbdImages.OBJECT_BYTES);
      }
      pipeline.drain();
    }
  }
}
