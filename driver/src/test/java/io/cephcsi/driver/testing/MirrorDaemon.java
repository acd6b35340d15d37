package io.cephcsi.driver.testing;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rados.Watch;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.testing.TestCluster;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * A client that looks as the daemon rbd-mirror of another site does: it watches the mirroring of a
 * pool, and has an image open.
 */
public final class MirrorDaemon implements AutoCloseable {
  private final RadosCluster cluster;
  private final IoContext io;
  private final Watch watch;
  private final RbdImage image;
  private final Queue<byte[]> heard = new ConcurrentLinkedQueue<>();

  /** Opens an image. */
  public MirrorDaemon(TestCluster ceph, String pool, String name) {
    cluster = ceph.connect();
    io = cluster.openPool(pool);
    watch = io.watch("rbd_mirroring", 0, heard::add);
    image = new RbdPool(io).open(name);
  }

  /** Makes a pool in which images can be mirrored. */
  public static void makePool(TestCluster ceph, String pool) {
    ceph.ceph("osd", "pool", "create", pool, "8");
    ceph.rbd("pool", "init", pool);
    ceph.rbd("mirror", "pool", "enable", pool, "image");
  }

  /** What it was notified of. */
  public Queue<byte[]> heard() {
    return heard;
  }

  /** Writes zeroes, for which it takes the lock. */
  public void write() {
    image.write(0, new byte[4096]);
  }

  @Override
  public void close() {
    image.close();
    watch.close();
    io.close();
    cluster.close();
  }
}
