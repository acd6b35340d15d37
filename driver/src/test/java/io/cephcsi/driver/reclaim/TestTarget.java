package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.cls.TrashDirectory;
import io.cephcsi.bindings.rados.ConnectionSettings;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.TrashEntry;
import io.cephcsi.testing.TestCluster;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** An image of a test, opened each time over a connection of its own. */
record TestTarget(TestCluster ceph, RbdPool pool, String name, String user)
    implements ReclaimTarget {
  TestTarget(TestCluster ceph, RbdPool pool, String name) {
    this(ceph, pool, name, "admin");
  }

  /** Makes a user who may do everything but blocklist, and gives its settings. */
  static ConnectionSettings.Builder weak(TestCluster ceph, String user) {
    ceph.ceph("auth", "get-or-create", "client." + user, "mon", "allow r", "osd", "allow rwx");
    return settings(ceph, user);
  }

  private static ConnectionSettings.Builder settings(TestCluster ceph, String user) {
    return ConnectionSettings.user(user)
        .monitors(ceph.monitors())
        .key(ceph.ceph("auth", "get-key", "client." + user).strip())
        .operationTimeout(Duration.ofSeconds(30));
  }

  @Override
  public RbdImage openReadOnly() {
    return pool.openReadOnly(name);
  }

  @Override
  public List<String> nodes() {
    return List.of();
  }

  @Override
  public Optional<TrashEntry> inTrash() {
    return TrashDirectory.named(pool.io(), name);
  }

  @Override
  public Writable open(Map<String, String> options) {
    var settings = settings(ceph, user).option("rbd_cache", "false");
    options.forEach(settings::option);
    RadosCluster cluster = RadosCluster.connect(settings.build());
    IoContext io = cluster.openPool(pool.io().pool(), pool.io().namespace()).tryWhenFull();
    return new Open(cluster, io, new RbdPool(io).open(name));
  }

  private record Open(RadosCluster cluster, IoContext io, RbdImage image) implements Writable {
    @Override
    public long clientId() {
      return cluster.instanceId();
    }

    @Override
    public void close() {
      image.close();
      io.close();
      cluster.close();
    }
  }
}
