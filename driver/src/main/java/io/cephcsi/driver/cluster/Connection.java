package io.cephcsi.driver.cluster;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.CommandReply;
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
  private final Manager manager;
  private final ClientRecord.Entry recorded;
  private final Map<PoolKey, IoContext> pools = new ConcurrentHashMap<>();
  private final Queue<IoContext> replaced = new ConcurrentLinkedQueue<>();
  private final KnownFileSystems fileSystems;

  Connection(RadosCluster cluster, ClientRecord record, Manager manager) {
    this.cluster = cluster;
    this.record = record;
    this.manager = manager;
    this.recorded = record.connection(cluster);
    this.fileSystems = new KnownFileSystems(cluster);
  }

  KnownFileSystems fileSystems() {
    return fileSystems;
  }

  CommandReply toManager(CephCommand command) {
    return manager.send(cluster, command);
  }

  RadosCluster cluster() {
    return cluster;
  }

  IoContext pool(String name, String namespace) {
    PoolKey key = new PoolKey(name, namespace);
    IoContext known = pools.get(key);
    if (known != null && isPool(name, known.poolId())) { // a look at the map of the client
      return known;
    }
    // It may wait for the monitors without end, so nobody else waits for this thread. A pool that
    // is known was removed or renamed, and its name may be another's: only the id stays.
    IoContext opened = open(name, namespace);
    while (true) {
      IoContext other = known == null ? pools.putIfAbsent(key, opened) : pools.get(key);
      if (other == null && known == null) {
        return opened;
      }
      if (other != null && other.poolId() == opened.poolId()) {
        opened.close();
        return other;
      }
      if (other != null && pools.replace(key, other, opened)) {
        replaced.add(other); // others may be using it
        return opened;
      }
      known = other;
    }
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
