package io.cephcsi.driver.rbd;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.Progress;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.rbd.parameters.RbdParameters;
import java.util.Map;
import java.util.UUID;

/**
 * A program whose threads open an image at a snapshot, for reading, and close it at once. That
 * takes no request to the cluster, so that librbd may be done with it before the thread that
 * completed the open goes on. Arguments as of {@link FlattenStress}.
 */
final class OpenStress {
  private static final int THREADS = 8;
  private static final int OPENS = 200; // in a round

  private OpenStress() {}

  public static void main(String[] args) throws Exception {
    int rounds = Integer.parseInt(args[2]);
    String name = "stress-" + UUID.randomUUID();
    ImageOptions options = RbdParameters.parse(Map.of("clusterID", "any", "pool", "rbd")).options();
    try (RadosCluster cluster = RadosCluster.connect(FlattenStress.settings(args));
        IoContext io = cluster.openPool("rbd")) {
      RbdPool pool = new RbdPool(io);
      pool.create(name, 16 << 20, options);
      try (RbdImage image = pool.open(name)) {
        image.snapshots().create("one");
      }
      StressThreads.run(
          THREADS, rounds * OPENS / THREADS, number -> pool.openReadOnly(name, "one").close());
      try (RbdImage image = pool.open(name)) {
        image.snapshots().remove("one");
      }
      pool.remove(name, Progress.NONE);
    }
    System.out.printf("survived %d rounds%n", rounds);
  }
}
