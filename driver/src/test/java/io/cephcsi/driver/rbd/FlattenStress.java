package io.cephcsi.driver.rbd;

import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.rados.ConnectionSettings;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.Progress;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.rbd.image.CloneSteps;
import io.cephcsi.driver.rbd.parameters.RbdParameters;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A program that opens and closes an image and its parent as fast as it can while the manager
 * flattens the image: librbd aborted a process once that closed an image at such a moment. Prints
 * how many rounds and opens it lived through. Arguments: monitors, user, rounds; the key is read
 * from stdin.
 */
final class FlattenStress {
  private static final int OBJECT = 1 << 16;
  private static final int OBJECTS = 200;
  private static final String SNAPSHOT = "s";

  private final RadosCluster cluster;
  private final RbdPool pool;
  private final String parent = "stress-" + UUID.randomUUID();
  private final ImageOptions options =
      RbdParameters.parse(
              Map.of("clusterID", "any", "pool", "rbd", "objectSize", Integer.toString(OBJECT)))
          .options();
  private final AtomicInteger opens = new AtomicInteger();
  private volatile boolean flattened;

  private FlattenStress(RadosCluster cluster, IoContext io) {
    this.cluster = cluster;
    this.pool = new RbdPool(io);
  }

  public static void main(String[] args) throws Exception {
    try (RadosCluster cluster = RadosCluster.connect(settings(args));
        IoContext io = cluster.openPool("rbd")) {
      new FlattenStress(cluster, io).run(Integer.parseInt(args[2]));
    }
  }

  /** A connection as the arguments and stdin say. */
  static ConnectionSettings settings(String[] args) throws IOException {
    String key = new String(System.in.readAllBytes(), StandardCharsets.UTF_8);
    return ConnectionSettings.user(args[1])
        .monitors(args[0])
        .key(key.strip())
        .operationTimeout(Duration.ofSeconds(30))
        .option("rbd_cache", "false")
        .build();
  }

  private void run(int rounds) throws Exception {
    pool.create(parent, (long) OBJECT * OBJECTS, options);
    try (RbdImage image = pool.open(parent)) {
      for (int i = 0; i < OBJECTS; i++) {
        image.write((long) i * OBJECT, new byte[] {1});
      }
      image.snapshots().create(SNAPSHOT);
    }
    ExecutorService threads = Executors.newCachedThreadPool();
    for (int i = 0; i < rounds; i++) {
      round(threads, parent + "-" + i);
    }
    threads.shutdown();
    try (RbdImage image = pool.open(parent)) {
      image.snapshots().remove(SNAPSHOT);
    }
    pool.remove(parent, Progress.NONE);
    System.out.printf("survived %d rounds with %d opens%n", rounds, opens.get());
  }

  private void round(ExecutorService threads, String child) throws Exception {
    pool.cloneImage(parent, SNAPSHOT, pool, child, CloneSteps.cloneOptions(options));
    String id = ImageId.find(pool, child).orElseThrow();
    flattened = false;
    List<Future<?>> users = new ArrayList<>();
    users.add(threads.submit(() -> use(() -> pool.open(child))));
    users.add(threads.submit(() -> use(() -> pool.openReadOnly(child))));
    users.add(threads.submit(() -> use(() -> pool.open(parent))));
    users.add(threads.submit(() -> use(() -> pool.openReadOnly(parent))));
    cluster.mgrCommand(
        "{\"prefix\": \"rbd task add flatten\", \"image_spec\": \"rbd/" + child + "\"}");
    while (ImageHeader.read(pool.io(), id).orElseThrow().parent().isPresent()) {
      Thread.sleep(5);
    }
    Thread.sleep(50); // the manager closes the image now
    flattened = true;
    for (Future<?> user : users) {
      user.get();
    }
    remove(child);
  }

  private void use(Opening opening) {
    while (!flattened) {
      try (RbdImage image = opening.open()) {
        opens.incrementAndGet();
        image.size();
      }
    }
  }

  /** The manager has the image open for a moment after the flattening. */
  private void remove(String child) throws InterruptedException {
    for (int attempt = 0; ; attempt++) {
      try {
        pool.remove(child, Progress.NONE);
        return;
      } catch (CephException e) {
        boolean passes = e instanceof CephException.Busy || e.errno() == Errno.ENOTEMPTY;
        if (!passes || attempt > 100) {
          throw e;
        }
        Thread.sleep(100);
      }
    }
  }

  /** Opens an image. */
  private interface Opening {
    RbdImage open();
  }
}
