package io.cephcsi.driver.cluster;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

/** A connection with the pools that were opened through it; shared by all its leases. */
final class Connection {
  private final RadosCluster cluster;
  private final ClientRecord record;
  private final ClientRecord.Entry recorded;
  private final Map<PoolKey, IoContext> pools = new ConcurrentHashMap<>();
  private final Queue<IoContext> replaced = new ConcurrentLinkedQueue<>();
  private final KnownFileSystems fileSystems;

  Connection(RadosCluster cluster, ClientRecord record) {
    this.cluster = cluster;
    this.record = record;
    this.recorded = record.connection(cluster);
    this.fileSystems = new KnownFileSystems(cluster);
  }

  KnownFileSystems fileSystems() {
    return fileSystems;
  }

  RadosCluster cluster() {
    return cluster;
  }

  IoContext pool(String name, String namespace) {
    IoContext io =
        pools.computeIfAbsent(new PoolKey(name, namespace), key -> open(name, namespace));
    if (isPool(name, io.poolId())) { // a look at the map of the client, no round trip
      return io;
    }
    // The pool was removed or renamed, and its name may be another's: only the id stays.
    return pools.compute(
        new PoolKey(name, namespace),
        (key, known) -> {
          if (known != null && isPool(name, known.poolId())) {
            return known;
          }
          IoContext opened = open(name, namespace);
          if (known != null) {
            replaced.add(known); // others may be using it
          }
          return opened;
        });
  }

  private boolean isPool(String name, long id) {
    try {
      return cluster.poolId(name) == id;
    } catch (CephException.NotFound e) {
      return false;
    }
  }

  /** In a full pool, what frees space must not wait, and what needs more fails at once. */
  private IoContext open(String name, String namespace) {
    try {
      return cluster.openPool(name, namespace).tryWhenFull();
    } catch (CephException.NotFound e) {
      cluster.awaitLatestOsdMap(); // it may be newer than our map
      return cluster.openPool(name, namespace).tryWhenFull();
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

  RecordedMount mount(String fileSystem, String root) {
    return RecordedMount.open(cluster, record, fileSystem, root);
  }

  void close() {
    for (IoContext io : pools.values()) {
      io.close();
    }
    for (IoContext io : replaced) {
      io.close();
    }
    cluster.close();
    recorded.close();
  }

  /** A namespace of a pool. */
  private record PoolKey(String pool, String namespace) {}
}
