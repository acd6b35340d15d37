package io.cephcsi.driver.cluster;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.Scheduler;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.ConnectionSettings;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Connections by cluster, user and key, shared by leases and closed when nobody used them for a
 * while. Callers that ask for the same connection at once wait for one connect. Safe for several
 * threads; {@link #lease} blocks while it connects.
 */
public final class ConnectionPool implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ConnectionPool.class);
  private static final Duration IDLE = Duration.ofMinutes(10);
  private static final Duration FAILURE_HOLDS = Duration.ofSeconds(2);
  private static final int MAX_CONNECTIONS = 100;
  private static final int ENDING_THREADS = 16;

  /** A command to a manager may take this many times as long as another operation. */
  private static final int COMMAND = 30;

  private final Duration connectTimeout;
  private final Duration operationTimeout;
  private final Cache<Key, Entry> entries;
  private final ClientRecord record;
  private final Map<String, Manager> managers = new ConcurrentHashMap<>(); // by fsid
  private final ConnectionCloser closer = new ConnectionCloser();
  private final LateReservations late;
  private volatile boolean closed;

  /**
   * @param connectTimeout how long connecting may take
   * @param operationTimeout how long one operation of the cluster may take
   */
  public ConnectionPool(Duration connectTimeout, Duration operationTimeout) {
    this(connectTimeout, operationTimeout, ClientRecord.none());
  }

  /**
   * As {@link #ConnectionPool(Duration, Duration)}, with a record of the connections and mounts;
   * those of a process that was killed before are ended in the background.
   *
   * @param record closed by the caller, after this pool
   */
  public ConnectionPool(Duration connectTimeout, Duration operationTimeout, ClientRecord record) {
    this(connectTimeout, operationTimeout, IDLE, record, LateReservations.Times.USUAL);
  }

  ConnectionPool(Duration connectTimeout, Duration operationTimeout, Duration idle) {
    this(connectTimeout, operationTimeout, idle, ClientRecord.none(), LateReservations.Times.USUAL);
  }

  ConnectionPool(
      Duration connectTimeout,
      Duration operationTimeout,
      Duration idle,
      ClientRecord record,
      LateReservations.Times times) {
    this.record = record;
    this.late = new LateReservations(this, record, times);
    this.connectTimeout = connectTimeout;
    this.operationTimeout = operationTimeout;
    this.entries =
        Caffeine.newBuilder()
            .expireAfterAccess(idle)
            .maximumSize(MAX_CONNECTIONS)
            .scheduler(Scheduler.systemScheduler())
            .<Key, Entry>removalListener((key, entry, cause) -> retire(entry))
            .build();
  }

  private static void retire(@Nullable Entry entry) {
    if (entry != null) {
      entry.retire();
    }
  }

  /**
   * Leases a connection, connecting if there is none.
   *
   * @throws VolumeException UNAUTHENTICATED when the cluster refuses the credentials; UNAVAILABLE
   *     when it does not answer, or a monitor's name cannot be resolved; FAILED_PRECONDITION when
   *     config.json has no address where one should be. UNAVAILABLE after {@link #close()}, too
   */
  public Lease lease(ClusterConfig config, Credentials credentials) {
    Key key = new Key(String.join(",", config.monitors()), credentials.alone());
    while (true) {
      Entry entry = entries.get(key, Entry::new);
      if (closed) { // asked once the entry can be seen: close() may have looked before
        entry.retire();
        throw new VolumeException(Reason.UNAVAILABLE, "the driver is stopping");
      }
      if (!entry.acquire()) {
        entries.asMap().remove(key, entry);
        continue;
      }
      try {
        return new Lease(config, entry, entry.connection(config));
      } catch (CephException e) {
        entry.release();
        throw ConnectFailure.of(config, credentials, e);
      } catch (RuntimeException e) {
        entry.release();
        throw e;
      }
    }
  }

  /**
   * Works on a leased connection; one that turns out blocklisted, or does not answer in time, is
   * replaced: librados does not always find monitors again that were moved or that refused it once.
   * What runs on it goes on. A connection that only waits for a cluster that hangs is replaced,
   * too: at most once in the time of an operation.
   *
   * @throws VolumeException as of {@link #lease}
   */
  public <T> T connected(ClusterConfig config, Credentials credentials, Function<Lease, T> work) {
    try (Lease lease = lease(config, credentials)) {
      try {
        return work.apply(lease);
      } catch (RuntimeException e) {
        lease.discardIfUnanswered(e);
        throw e;
      }
    }
  }

  /** As {@link #connected}, for work without a result. */
  public void with(ClusterConfig config, Credentials credentials, Consumer<Lease> work) {
    connected(
        config,
        credentials,
        lease -> {
          work.accept(lease);
          return true;
        });
  }

  /**
   * Connects apart from the pool, with options of its own; the caller closes it.
   *
   * @param options options of Ceph's configuration
   * @throws VolumeException as {@link #lease}
   */
  public ApartConnection connectApart(
      ClusterConfig config, Credentials credentials, Map<String, String> options) {
    ConnectionSettings.Builder settings =
        settings(String.join(",", config.monitors()), credentials);
    options.forEach(settings::option);
    try {
      return ApartConnection.of(RadosCluster.connect(settings.build()), record);
    } catch (CephException e) {
      throw ConnectFailure.of(config, credentials, e);
    }
  }

  private Manager managerOf(RadosCluster cluster) {
    return managers.computeIfAbsent(
        cluster.fsid(), fsid -> new Manager(operationTimeout.multipliedBy(COMMAND)));
  }

  /**
   * An operation that times out while it changes an object map leaves the map marked as invalid
   * ({@code rbd_invalidate_object_map_on_timeout}), which is slow, but safe. Without the mark, a
   * repeated rollback, as of a forced promotion, would skip objects by a map that was written late.
   */
  private ConnectionSettings.Builder settings(String monitors, Credentials credentials) {
    return ConnectionSettings.user(credentials.userId())
        .monitors(monitors)
        .key(credentials.key())
        .connectTimeout(connectTimeout)
        .operationTimeout(operationTimeout)
        .longWaits(LongStep::run)
        // With the cache on, a write or discard succeeds before the cluster has it, and its error
        // comes out of the next flush: nothing here reads or writes twice, so it has no use.
        .option("rbd_cache", "false");
  }

  /** How many connections are open or being opened. */
  public long size() {
    entries.cleanUp();
    return entries.estimatedSize();
  }

  /**
   * Closes all connections, those that are leased when their leases end, and leases no more. Waits
   * until those that nobody leases are closed, and so for calls that run on them without a lease.
   */
  @Override
  public void close() {
    closed = true;
    late.close();
    List<Entry> open = List.copyOf(entries.asMap().values());
    entries.invalidateAll();
    open.forEach(Entry::retire); // the cache tells its listener later, on a thread of its own
    closer.await();
  }

  /**
   * As {@link #close()}, but does not wait for longer than a time: a call of librados may hang that
   * has no timeout, and then ends with the process.
   */
  public void close(Duration limit) {
    Thread closing = DaemonThreads.of("close-connections", this::close);
    closing.start();
    try {
      closing.join(limit.toMillis());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    if (closing.isAlive()) {
      LOG.warn("a cluster does not answer: its connection is not closed before the process ends");
    }
  }

  /** What tells connections apart; its text does not show the key. */
  private record Key(String monitors, Credentials credentials) {}

  /** A connection and the number of its leases. */
  final class Entry {
    private final Key key;
    private final CompletableFuture<Connection> connected = new CompletableFuture<>();
    private boolean connecting;
    private boolean retired;
    private boolean handedOut;
    private int leases;
    private long failedAtNanos;

    private Entry(Key key) {
      this.key = key;
    }

    ApartConnection connectApart(ClusterConfig config, Map<String, String> options) {
      return ConnectionPool.this.connectApart(config, key.credentials, options);
    }

    <T> T during(
        ClusterConfig config,
        RadosCluster cluster,
        LateReservation reservation,
        Supplier<T> writes) {
      return late.during(
          new LateReservations.Maker(config, key.credentials, cluster), reservation, writes);
    }

    /** Takes a lease; false when the entry is retired and a new one must be made. */
    private synchronized boolean acquire() {
      if (retired) {
        return false;
      }
      if (connected.isCompletedExceptionally()
          && System.nanoTime() - failedAtNanos > FAILURE_HOLDS.toNanos()) {
        retired = true;
        return false;
      }
      leases++;
      return true;
    }

    /** Takes one more lease for a caller that has one, also of a retired entry. */
    synchronized void share() {
      leases++;
    }

    private Connection connection(ClusterConfig config) {
      if (startsConnecting()) {
        connect(config);
      }
      try {
        return connected.join();
      } catch (CompletionException e) {
        if (e.getCause() instanceof RuntimeException cause) {
          throw cause;
        }
        throw e;
      }
    }

    private synchronized boolean startsConnecting() {
      boolean first = !connecting;
      connecting = true;
      return first;
    }

    private void connect(ClusterConfig config) {
      try {
        ConnectionSettings settings = settings(key.monitors, key.credentials).build();
        RadosCluster cluster = RadosCluster.connect(settings);
        connected.complete(new Connection(cluster, record, managerOf(cluster)));
        endDead(config, cluster);
      } catch (Throwable e) {
        synchronized (this) {
          failedAtNanos = System.nanoTime();
          // A silent cluster is asked again after a moment; wrong credentials may be right by now.
          retired = !(e instanceof CephException.TimedOut);
        }
        connected.completeExceptionally(e);
        if (!(e instanceof CephException.TimedOut)) {
          entries.asMap().remove(key, this); // must not push out connections that are used
        }
      }
    }

    /**
     * Ends the clients of a process that was killed, on threads of its own: each takes a second.
     */
    private void endDead(ClusterConfig config, RadosCluster cluster) {
      Queue<RecordedClient> dead = new ConcurrentLinkedQueue<>();
      for (RecordedClient one : record.take(cluster)) {
        if (one.kind() == RecordedClient.Kind.RESERVATION) {
          late.inherit(new LateReservations.Maker(config, key.credentials, cluster), one);
        } else {
          dead.add(one);
        }
      }
      for (int threads = Math.min(dead.size(), ENDING_THREADS); threads > 0; threads--) {
        share();
        DaemonThreads.of(
                "end-dead-clients",
                () -> {
                  try {
                    new DeadClients(record, cluster, () -> closed).end(dead);
                  } finally {
                    release();
                  }
                })
            .start();
      }
    }

    void release() {
      Connection unused;
      synchronized (this) {
        leases--;
        unused = closable();
      }
      close(unused);
    }

    void retire() {
      Connection unused;
      synchronized (this) {
        retired = true;
        unused = closable();
      }
      entries.asMap().remove(key, this);
      close(unused);
    }

    /** The connection when it is to be closed; only once, as several may retire an entry. */
    private @Nullable Connection closable() {
      boolean done = connected.isDone() && !connected.isCompletedExceptionally();
      if (!retired || handedOut || leases > 0 || !done) {
        return null;
      }
      handedOut = true;
      return connected.join();
    }

    private void close(@Nullable Connection connection) {
      if (connection != null) {
        closer.close(connection, key.credentials);
      }
    }
  }
}
