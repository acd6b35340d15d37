package io.cephcsi.driver.rbd;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.ConnectionSettings;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.Progress;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.rbd.image.CloneSteps;
import io.cephcsi.driver.rbd.parameters.RbdParameters;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A program whose writers open an image, write to it, which takes the exclusive lock, and close it,
 * while other clients snapshot and clone it and remove the clones, which they ask the owner of the
 * lock to carry out. Closing with the lock, librbd aborts the process within seconds. Prints how
 * many clones and opens it lived through. Arguments as of {@link FlattenStress}.
 */
final class DetachStress {
  private static final int WRITERS = 2;
  private static final int CLONERS = 3;

  private final ConnectionSettings settings;
  private final String parent = "stress-" + UUID.randomUUID();
  private final ImageOptions options =
      RbdParameters.parse(Map.of("clusterID", "any", "pool", "rbd")).options();
  private final AtomicInteger opens = new AtomicInteger();
  private final AtomicInteger clones = new AtomicInteger();
  private volatile boolean cloned;

  private DetachStress(ConnectionSettings settings) {
    this.settings = settings;
  }

  public static void main(String[] args) throws Exception {
    new DetachStress(FlattenStress.settings(args)).run(Integer.parseInt(args[2]));
  }

  private void run(int rounds) throws Exception {
    try (RadosCluster cluster = RadosCluster.connect(settings);
        IoContext io = cluster.openPool("rbd")) {
      RbdPool pool = new RbdPool(io);
      pool.create(parent, 16 << 20, options);
      ExecutorService threads = Executors.newCachedThreadPool();
      List<Future<?>> writers = new ArrayList<>();
      List<Future<?>> cloners = new ArrayList<>();
      for (int i = 0; i < WRITERS; i++) {
        writers.add(threads.submit(() -> connected(this::write)));
      }
      for (int i = 0; i < CLONERS; i++) {
        String name = parent + "-" + i + "-";
        cloners.add(
            threads.submit(
                () ->
                    connected(
                        own -> {
                          for (int round = 0; round < rounds; round++) {
                            cloneAndRemove(own, name + round);
                          }
                        })));
      }
      try {
        for (Future<?> cloner : cloners) {
          cloner.get();
        }
      } finally {
        cloned = true;
        threads.shutdown();
      }
      for (Future<?> writer : writers) {
        writer.get();
      }
      pool.remove(parent, Progress.NONE);
    }
    System.out.printf("survived %d rounds with %d opens%n", clones.get() / CLONERS, opens.get());
  }

  /** Each client has its connection, so that the lock is not theirs together. */
  private void connected(Work work) {
    try (RadosCluster cluster = RadosCluster.connect(settings);
        IoContext io = cluster.openPool("rbd")) {
      work.on(new RbdPool(io));
    }
  }

  private void write(RbdPool pool) {
    while (!cloned) {
      try (RbdImage image = pool.open(parent)) {
        image.write(0, new byte[] {2});
        opens.incrementAndGet();
      }
    }
  }

  private void cloneAndRemove(RbdPool pool, String child) {
    try (RbdImage image = pool.open(parent)) {
      changed(() -> image.snapshots().create(child));
      pool.cloneImage(parent, child, pool, child, CloneSteps.cloneOptions(options));
      changed(() -> image.snapshots().remove(child)); // stays until the clone goes
    }
    changed(() -> pool.remove(child, Progress.NONE));
    clones.incrementAndGet();
  }

  /** The owner of the lock may have carried it out and gone: then the next one is asked again. */
  private static void changed(Runnable change) {
    try {
      change.run();
    } catch (CephException.AlreadyExists | CephException.NotFound e) {
      // done already
    }
  }

  /** What a client does. */
  private interface Work {
    void on(RbdPool pool);
  }
}
