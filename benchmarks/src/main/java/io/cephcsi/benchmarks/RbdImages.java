package io.cephcsi.benchmarks;

import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.rados.ConnectionSettings;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.Progress;
import io.cephcsi.bindings.rbd.RbdCompletion;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Set;

/** Images of the programs that compare with a baseline, in the pool {@code rbd}. */
final class RbdImages implements AutoCloseable {
  static final int OBJECT_BYTES = 4 << 20;
  static final String POOL = "rbd";

  private static final int IN_FLIGHT = 64;

  final Path conf;
  final RadosCluster cluster;
  final RbdPool pool;
  private final IoContext io;

  private RbdImages(Path conf, RadosCluster cluster) {
    this.conf = conf;
    this.cluster = cluster;
    this.io = cluster.openPool(POOL);
    this.pool = new RbdPool(io);
  }

  /** Connects to the cluster of a ceph.conf. */
  static RbdImages connect(Path conf) {
    return new RbdImages(conf, connection(conf));
  }

  /** A further connection, as the driver makes them. */
  static RadosCluster connection(Path conf) {
    return RadosCluster.connect(
        ConnectionSettings.user("admin").configFile(conf).option("rbd_cache", "false").build());
  }

  /** Makes an image with an object map, instead of one that there is. */
  void make(String name, long bytes) {
    remove(name);
    pool.create(
        name,
        bytes,
        ImageOptions.builder()
            .features(
                Set.of(
                    ImageFeature.LAYERING,
                    ImageFeature.EXCLUSIVE_LOCK,
                    ImageFeature.OBJECT_MAP,
                    ImageFeature.FAST_DIFF))
            .objectSizeBytes(OBJECT_BYTES)
            .build());
  }

  void remove(String name) {
    if (ImageId.find(pool, name).isPresent()) {
      pool.remove(name, Progress.NONE);
    }
  }

  /** Writes the same bytes at the beginning of many objects. */
  void write(String name, long[] offsets, byte[] data) {
    Deque<RbdCompletion> running = new ArrayDeque<>();
    try (RbdImage image = pool.open(name)) {
      for (long offset : offsets) {
        if (running.size() == IN_FLIGHT) {
          finish(running);
        }
        running.add(image.writeAsync(offset, data));
      }
      while (!running.isEmpty()) {
        finish(running);
      }
      image.flush();
    }
  }

  private static void finish(Deque<RbdCompletion> running) {
    try (RbdCompletion oldest = running.remove()) {
      oldest.await();
    }
  }

  /** The beginnings of the first objects, or of as many spread over an image. */
  static long[] objects(int count, long step) {
    long[] offsets = new long[count];
    for (int i = 0; i < count; i++) {
      offsets[i] = i * step;
    }
    return offsets;
  }

  @Override
  public void close() {
    io.close();
    cluster.close();
  }
}
