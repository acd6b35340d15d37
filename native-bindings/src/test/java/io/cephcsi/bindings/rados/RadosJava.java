package io.cephcsi.bindings.rados;

import com.ceph.rados.IoCTX;
import com.ceph.rados.Rados;
import com.ceph.rados.exceptions.RadosException;
import io.cephcsi.testing.TestCluster;

/** rados-java's connection to a cluster, as the second, independent client. */
final class RadosJava implements AutoCloseable {
  private final Rados rados;

  private RadosJava(Rados rados) {
    this.rados = rados;
  }

  static RadosJava connect(TestCluster cluster) throws RadosException {
    Rados rados = new Rados("admin");
    rados.confSet("mon_host", cluster.monitors());
    rados.confSet("key", cluster.key("admin"));
    rados.confSet("keyring", "/dev/null");
    rados.connect();
    return new RadosJava(rados);
  }

  Rados rados() {
    return rados;
  }

  /** A pool; given back by {@link Rados#ioCtxDestroy}, and once only. */
  IoCTX open(String pool, String namespace) throws RadosException {
    IoCTX io = rados.ioCtxCreate(pool);
    io.setNamespace(namespace);
    return io;
  }

  @Override
  public void close() {
    rados.shutDown();
  }
}
