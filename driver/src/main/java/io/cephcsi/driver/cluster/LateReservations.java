package io.cephcsi.driver.cluster;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Undoes reservations that the cluster carries out after they were given up: because the operation
 * had no answer in time, or its process was killed. The kernel of a machine sends what it was given
 * for up to 15 minutes, so another driver may have made the volume and deleted it before. See
 * {@code docs/decisions/late-commands.md}.
 *
 * <p>A reservation that takes long is written to the {@link ClientRecord}, from where the next
 * process takes it over. Those with an answer in time cost no file access. Safe for several
 * threads.
 */
final class LateReservations implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(LateReservations.class);
  private static final int MOST = 1000;

  private final ConnectionPool connections;
  private final ClientRecord record;
  private final Times times;
  private final Set<Object> watched = ConcurrentHashMap.newKeySet();
  private final ClusterWorkers workers = new ClusterWorkers("late-reservations", 1, MOST);
  private final ScheduledThreadPoolExecutor recorder =
      new ScheduledThreadPoolExecutor(1, DaemonThreads.named("record-reservations"));
  private volatile boolean closed;

  /**
   * When is looked at what.
   *
   * @param recorded after how long a reservation without an answer is written to the record
   * @param first after how long one is looked at whose outcome is unknown
   * @param again after each look
   * @param kept how long it is looked at, and until a look succeeds or the user is refused: longer
   *     than a machine sends it
   * @param most how long it is looked at while no look succeeds, as its cluster may be gone
   */
  record Times(Duration recorded, Duration first, Duration again, Duration kept, Duration most) {
    static final Times USUAL =
        new Times(
            Duration.ofMillis(200),
            Duration.ofSeconds(10),
            Duration.ofMinutes(1),
            Duration.ofMinutes(20),
            Duration.ofDays(1));
  }

  /** Who made a reservation. */
  record Maker(ClusterConfig cluster, Credentials user, RadosCluster connection) {}

  LateReservations(ConnectionPool connections, ClientRecord record, Times times) {
    this.connections = connections;
    this.record = record;
    this.times = times;
    recorder.setRemoveOnCancelPolicy(true);
    recorder.setRejectedExecutionHandler(new ThreadPoolExecutor.DiscardPolicy());
  }

  /** As {@link Reservations#during}. */
  <T> T during(Maker maker, LateReservation reservation, Supplier<T> writes) {
    if (reservation.maker().isEmpty()) {
      return writes.get(); // it could not be told from what others made
    }
    Recording recording = new Recording(maker.connection(), reservation);
    Future<?> soon =
        recorder.schedule(recording::record, times.recorded().toMillis(), TimeUnit.MILLISECONDS);
    boolean unknown = false;
    try {
      return writes.get();
    } catch (CephException.OutcomeUnknown e) {
      unknown = true;
      throw e;
    } finally {
      soon.cancel(false);
      if (!unknown) {
        recording.close();
      } else {
        keep(maker, recording);
      }
    }
  }

  private void keep(Maker maker, Recording recording) {
    if (watched.size() >= MOST) {
      LOG.warn(
          "reservation {} in {} is not looked at again: {} others have no answer either",
          recording.reservation.key(),
          recording.reservation.directory(),
          MOST);
      recording.close();
      return;
    }
    watched.add(recording);
    recording.record();
    watch(new Watched(recording, recording.reservation, maker, recording::close), times.first());
  }

  /** Goes on with what a process left that was killed. */
  void inherit(Maker maker, RecordedClient line) {
    LateReservation.parse(line.names())
        .filter(reservation -> watched.add(line))
        .ifPresent(
            reservation ->
                watch(
                    new Watched(line, reservation, maker, () -> record.ended(line)),
                    times.first()));
  }

  /** A reservation whose outcome is unknown, and how it is forgotten. */
  private record Watched(
      Object key,
      LateReservation reservation,
      ClusterConfig cluster,
      Credentials user,
      String fsid,
      Runnable forget,
      long since) {
    Watched(Object key, LateReservation reservation, Maker maker, Runnable forget) {
      this(
          key,
          reservation,
          maker.cluster(),
          maker.user(),
          maker.connection().fsid(),
          forget,
          System.nanoTime());
    }
  }

  private void watch(Watched one, Duration delay) {
    CompletableFuture.delayedExecutor(delay.toMillis(), TimeUnit.MILLISECONDS, Runnable::run)
        .execute(
            () -> {
              try {
                workers.of(one.fsid()).execute(() -> look(one));
              } catch (RejectedExecutionException e) { // too many, or the driver ends
                if (!closed) {
                  watch(one, times.again());
                }
              }
            });
  }

  private void look(Watched one) {
    if (closed) {
      return;
    }
    long age = System.nanoTime() - one.since();
    boolean looked = isUndone(one);
    if (age > (looked ? times.kept() : times.most()).toNanos()) {
      one.forget().run();
      watched.remove(one.key());
    } else {
      watch(one, times.again());
    }
  }

  /**
   * Returns false if it could not be looked at: the operations may be held up at the same OSD, or
   * the cluster does not answer.
   */
  private boolean isUndone(Watched one) {
    try {
      connections.with(one.cluster(), one.user(), lease -> one.reservation().undo(lease.cluster()));
      return true;
    } catch (CephException.NotFound e) {
      return true; // a pool is gone
    } catch (VolumeException e) {
      LOG.debug("{} could not be looked at", one.reservation(), e);
      return e.reason() == Reason.UNAUTHENTICATED; // the user or the cluster is gone
    } catch (RuntimeException e) {
      LOG.debug("{} could not be looked at", one.reservation(), e);
      return false;
    }
  }

  /** Looks no more; what is recorded stays so, for the next process. */
  @Override
  public void close() {
    closed = true;
    recorder.shutdownNow();
    workers.close();
  }

  /** The line of one reservation. */
  private final class Recording implements AutoCloseable {
    private final RadosCluster cluster;
    private final LateReservation reservation;
    private ClientRecord.@Nullable Entry line;
    private boolean ended;

    Recording(RadosCluster cluster, LateReservation reservation) {
      this.cluster = cluster;
      this.reservation = reservation;
    }

    synchronized void record() {
      if (line == null && !ended) {
        line = record.reservation(cluster, reservation);
      }
    }

    @Override
    public synchronized void close() {
      ended = true;
      if (line != null) {
        line.close();
      }
    }
  }
}
