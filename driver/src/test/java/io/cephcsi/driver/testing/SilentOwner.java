package io.cephcsi.driver.testing;

import io.cephcsi.bindings.rados.ClassCall;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rados.Watch;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.testing.TestCluster;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A client that has the exclusive lock of an image as librbd takes it, keeps its watch alive, and
 * acknowledges each notification without doing anything. It gives way when it is closed.
 */
public final class SilentOwner implements AutoCloseable {
  private static final int EXCLUSIVE = 1;
  private static final String LOCK = "rbd_lock";

  private final RadosCluster connection;
  private final IoContext io;
  private final List<Watch> watches = new ArrayList<>();
  private final String header;
  private final String cookie;

  /** Takes the lock of an image that nobody has open. */
  public SilentOwner(TestCluster cluster, String pool, String imageId) {
    this(cluster, pool, imageId, false);
  }

  private SilentOwner(TestCluster cluster, String pool, String imageId, boolean mirrors) {
    header = "rbd_header." + imageId;
    connection = cluster.connect();
    io = connection.openPool(pool);
    watches.add(io.watch(header, 0, payload -> {}));
    if (mirrors) {
      watches.add(io.watch("rbd_mirroring", 0, payload -> {}));
    }
    Matcher watcher =
        Pattern.compile("client\\." + connection.instanceId() + " cookie=(\\d+)")
            .matcher(cluster.rados("-p", pool, "listwatchers", header));
    if (!watcher.find()) {
      throw new IllegalStateException("nobody watches " + header);
    }
    cookie = "auto " + watcher.group(1);
    ClassCall lock =
        ClassCall.content()
            .string(LOCK)
            .u8(EXCLUSIVE)
            .string(cookie)
            .string("internal")
            .string("")
            .u32(0)
            .u32(0)
            .u8(0);
    call("lock", lock);
  }

  /** One that looks as the daemon rbd-mirror does, which is no user of an image. */
  public static SilentOwner daemon(TestCluster cluster, String pool, String imageId) {
    return new SilentOwner(cluster, pool, imageId, true);
  }

  private void call(String method, ClassCall content) {
    try (WriteOperation write = new WriteOperation()) {
      ClassCall.of("lock", method).structure(1, 1, content).addTo(write);
      io.operate(header, write);
    }
  }

  @Override
  public void close() {
    call("unlock", ClassCall.content().string(LOCK).string(cookie));
    watches.forEach(Watch::close);
    io.close();
    connection.close();
  }
}
