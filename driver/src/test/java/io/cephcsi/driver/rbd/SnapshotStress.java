package io.cephcsi.driver.rbd;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.Progress;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.rbd.image.CloneSteps;
import io.cephcsi.driver.rbd.parameters.RbdParameters;
import java.util.Map;
import java.util.UUID;

/**
 * A program whose threads open one image, take a snapshot of it, clone that, remove the snapshot
 * and close the image, as calls of the driver for one volume do. A thread that closes with the
 * exclusive lock while others take snapshots may wait for ever, if nothing keeps the one from the
 * other. Arguments as of {@link FlattenStress}.
 */
final class SnapshotStress {
  private static final int THREADS = 8;

  private SnapshotStress() {}

  public static void main(String[] args) throws Exception {
    int rounds = Integer.parseInt(args[2]);
    String name = "stress-" + UUID.randomUUID();
    ImageOptions options = RbdParameters.parse(Map.of("clusterID", "any", "pool", "rbd")).options();
    try (RadosCluster cluster = RadosCluster.connect(FlattenStress.settings(args));
        IoContext io = cluster.openPool("rbd")) {
      RbdPool pool = new RbdPool(io);
      pool.create(name, 16 << 20, options);
      StressThreads.run(THREADS, rounds, number -> cloneOnce(pool, name, number, options));
      for (int number = 0; number < THREADS * rounds; number++) {
        pool.remove(name + "-" + number, Progress.NONE);
      }
      pool.remove(name, Progress.NONE);
    }
    System.out.printf("survived %d rounds%n", rounds);
  }

  private static void cloneOnce(RbdPool pool, String name, int number, ImageOptions options) {
    String child = name + "-" + number;
    try (RbdImage image = pool.open(name)) {
      try {
        image.snapshots().create(child);
      } catch (CephException.AlreadyExists e) {
        // The owner of the lock made it and was gone before it could say so.
      }
      pool.cloneImage(name, child, pool, child, CloneSteps.cloneOptions(options));
      image.snapshots().remove(child); // stays until the clone goes
    }
  }
}
