package io.cephcsi.driver.cluster;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** A connection with the pools that were opened through it; shared by all its leases. */
final class Connection {
  private final RadosCluster cluster;
  private final Map<Place, IoContext> pools = new ConcurrentHashMap<>();

  Connection(RadosCluster cluster) {
    this.cluster = cluster;
  }

  RadosCluster cluster() {
    return cluster;
  }

  IoContext pool(String name, String namespace) {
    return pools.computeIfAbsent(new Place(name, namespace), place -> open(name, namespace));
  }

  private IoContext open(String name, String namespace) {
    try {
      return cluster.openPool(name, namespace);
    } catch (CephException.NotFound e) {
      cluster.awaitLatestOsdMap(); // it may be newer than our map
      return cluster.openPool(name, namespace);
    }
  }

  String poolName(long id) {
    try {
      return cluster.poolName(id);
    } catch (CephException.NotFound e) {
      cluster.awaitLatestOsdMap();
      return cluster.poolName(id);
    }
  }

  void close() {
    pools.values().forEach(IoContext::close);
    cluster.close();
  }

  /** A namespace of a pool. */
  private record Place(String pool, String namespace) {}
}
