package io.cephcsi.driver.cluster;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.CommandReply;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import java.util.Map;
import java.util.function.Supplier;

/**
 * The use of a shared connection; close it when done. Pools opened through it stay open with the
 * connection: do not close them. Safe for several threads.
 */
public final class Lease implements AutoCloseable {
  private static final int MOST_CAUSES = 10;

  private final ClusterConfig config;
  private final ConnectionPool.Entry entry;
  private final Connection connection;
  private boolean closed;

  Lease(ClusterConfig config, ConnectionPool.Entry entry, Connection connection) {
    this.config = config;
    this.entry = entry;
    this.connection = connection;
  }

  /** The cluster's configuration. */
  public ClusterConfig config() {
    return config;
  }

  /** The connection. */
  public RadosCluster cluster() {
    return connection.cluster();
  }

  /**
   * Sends a command to the manager of the cluster, and waits for 30 times as long as an operation
   * may take.
   *
   * @throws CephException.TimedOut if there is no answer: it may be carried out all the same
   * @throws io.cephcsi.driver.volume.VolumeException UNAVAILABLE if it is not sent, as another one
   *     has had no answer
   * @throws CephException with the status line that the manager sent
   */
  public CommandReply toManager(CephCommand command) {
    return connection.toManager(command);
  }

  /** The file systems of the cluster, which are remembered for a while. */
  public KnownFileSystems fileSystems() {
    return connection.fileSystems();
  }

  /**
   * A pool in the namespace of RBD.
   *
   * @throws io.cephcsi.bindings.error.CephException.NotFound if the cluster has no such pool
   */
  public IoContext rbdPool(String name) {
    return connection.pool(name, config.rbdNamespace());
  }

  /** A pool in the namespace of RBD, by its id. */
  public IoContext rbdPool(long id) {
    return rbdPool(connection.poolName(id));
  }

  /**
   * A pool by its id, in a namespace.
   *
   * @throws io.cephcsi.bindings.error.CephException.NotFound if the cluster has no such pool
   */
  IoContext pool(long id, String namespace) {
    return connection.pool(connection.poolName(id), namespace);
  }

  /**
   * Connects as the same user with options of its own; the caller closes it.
   *
   * @param options options of Ceph's configuration
   */
  public ApartConnection connectApart(Map<String, String> options) {
    return entry.connectApart(config, options);
  }

  /**
   * Mounts a file system with this connection, as {@link
   * io.cephcsi.bindings.cephfs.CephFsMount#mount(RadosCluster, String, String)}; the caller closes
   * it before this lease. No round trip more than that.
   */
  public RecordedMount mount(String fileSystem, String root) {
    return connection.mount(fileSystem, root);
  }

  /** Undoes what is reserved by this connection and carried out too late. */
  public Reservations reservations() {
    return new Reservations() {
      @Override
      public <T> T during(LateReservation reservation, Supplier<T> writes) {
        return entry.during(config, cluster(), reservation, writes);
      }
    };
  }

  /**
   * One more lease of this connection, for what outlives this one: as long as it is not closed, the
   * connection stays open, even when it was discarded.
   *
   * @throws IllegalStateException if this one is closed
   */
  public synchronized Lease share() {
    if (closed) {
      throw new IllegalStateException("the lease is closed");
    }
    entry.share();
    return new Lease(config, entry, connection);
  }

  /** Says that the connection is of no use any more: the next lease gets a new one. */
  public void discard() {
    entry.retire();
  }

  /** As {@link #discard}, if a failure was caused by an operation that had no answer. */
  public void discardIfUnanswered(Throwable failure) {
    Throwable cause = failure;
    for (int depth = 0; cause != null && depth < MOST_CAUSES; depth++) {
      if (cause instanceof CephException.OwnerSilent) {
        return; // the cluster itself answers
      }
      if (cause instanceof CephException.OutcomeUnknown) {
        discard();
        return;
      }
      cause = cause.getCause();
    }
  }

  @Override
  public synchronized void close() {
    if (!closed) {
      closed = true;
      entry.release();
    }
  }
}
