package io.cephcsi.driver.cluster;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.CommandReply;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Duration;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The manager of a cluster, as all connections to it see it. Librados waits for its answer without
 * end, so a command without one is given up after a time, which keeps a thread and the connection
 * until the manager answers. So from then on, until a command is answered, they are sent one at a
 * time, and each is waited for twice as long as the one before, from the second on. Safe for
 * several threads.
 */
final class Manager {
  private static final Logger LOG = LoggerFactory.getLogger(Manager.class);
  private static final int MOST_DOUBLINGS = 4;

  private final Duration patience;
  private final LongSupplier nanoTime;
  private boolean silent;
  private boolean asking;
  private int doublings;

  /**
   * @param patience how long a command may take
   */
  Manager(Duration patience) {
    this(patience, System::nanoTime);
  }

  Manager(Duration patience, LongSupplier nanoTime) {
    this.patience = patience;
    this.nanoTime = nanoTime;
  }

  /**
   * Sends a command and waits for its answer.
   *
   * @throws CephException.TimedOut when it is given up: it may be carried out all the same
   * @throws VolumeException UNAVAILABLE when it is not sent, as another one has no answer
   */
  CommandReply send(RadosCluster cluster, CephCommand command) {
    return send(wait -> command.toManager(cluster, wait));
  }

  /**
   * As {@link #send(RadosCluster, CephCommand)}.
   *
   * @param command gets how long it may take
   */
  CommandReply send(Function<Duration, CommandReply> command) {
    boolean alone = begin();
    Duration wait = alone ? longer() : patience;
    long begun = nanoTime.getAsLong();
    try {
      CommandReply reply = command.apply(wait);
      answered();
      return reply;
    } catch (CephException.TimedOut e) {
      if (nanoTime.getAsLong() - begun < wait.toNanos()) {
        answered(); // the manager itself says that something took too long
      } else {
        gaveUp(alone);
      }
      throw e;
    } catch (CephException e) {
      answered();
      throw e;
    } finally {
      end(alone);
    }
  }

  /** Returns whether no other command may be sent meanwhile. */
  private synchronized boolean begin() {
    if (silent && asking) {
      throw new VolumeException(
          Reason.UNAVAILABLE, "the cluster's manager does not answer; try again later");
    }
    asking |= silent;
    return silent;
  }

  private synchronized Duration longer() {
    return patience.multipliedBy(1L << doublings);
  }

  private synchronized void answered() {
    silent = false;
    doublings = 0;
  }

  private synchronized void gaveUp(boolean alone) {
    if (!silent) {
      silent = true;
      LOG.warn("the manager has not answered a command for {}: asking one at a time", patience);
    } else if (alone) {
      doublings = Math.min(doublings + 1, MOST_DOUBLINGS);
    }
  }

  private synchronized void end(boolean alone) {
    asking &= !alone;
  }
}
