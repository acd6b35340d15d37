package io.cephcsi.driver.cluster;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.CommandReply;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.DoubleSupplier;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The manager of a cluster, as all connections to it see it. Librados waits for its answer without
 * end, so a command without one is given up after a time, which keeps a thread and the connection
 * until the manager answers. So from then on, until a command is answered, they are sent one at a
 * time, and each is waited for twice as long as the one before, from the second on.
 *
 * <p>A manager that hung may find its own client of a file system blocklisted. It gets no command
 * for that until it connects anew; see {@link QuietTimes}.
 *
 * <p>Safe for several threads.
 */
final class Manager {
  private static final Logger LOG = LoggerFactory.getLogger(Manager.class);
  private static final int MOST_DOUBLINGS = 4;

  private final Duration patience;
  private final LongSupplier nanoTime;
  private final QuietTimes quiet;
  private boolean silent;
  private boolean asking;
  private int doublings;

  /**
   * @param patience how long a command may take
   */
  Manager(Duration patience) {
    this(patience, System::nanoTime, () -> ThreadLocalRandom.current().nextDouble());
  }

  Manager(Duration patience, LongSupplier nanoTime, DoubleSupplier random) {
    this.patience = patience;
    this.nanoTime = nanoTime;
    this.quiet = new QuietTimes(nanoTime, random);
  }

  /**
   * Sends a command and waits for its answer.
   *
   * @throws CephException.TimedOut when it is given up: it may be carried out all the same
   * @throws VolumeException UNAVAILABLE when it is not sent, as another one has no answer; when the
   *     manager's own client of its file system is blocklisted, and for a time after that unless it
   *     is {@link CephCommand#urgent}
   */
  CommandReply send(RadosCluster cluster, CephCommand command) {
    return send(command, wait -> command.toManager(cluster, wait));
  }

  /**
   * As {@link #send(RadosCluster, CephCommand)}.
   *
   * @param sending gets how long it may take
   */
  CommandReply send(CephCommand command, Function<Duration, CommandReply> sending) {
    boolean alone = begin(command);
    Duration wait = alone ? longer() : patience;
    long begun = nanoTime.getAsLong();
    try {
      CommandReply reply = sending.apply(wait);
      answered();
      worked(command);
      return reply;
    } catch (CephException.TimedOut e) {
      if (nanoTime.getAsLong() - begun < wait.toNanos()) {
        answered(); // the manager itself says that something took too long
      } else {
        gaveUp(alone);
      }
      throw e;
    } catch (CephException.Blocklisted e) {
      answered();
      throw blocklisted(command, e);
    } catch (CephException e) {
      answered();
      throw e;
    } finally {
      end(command, alone);
    }
  }

  /** Returns whether no other command may be sent meanwhile. */
  private synchronized boolean begin(CephCommand command) {
    command.fileSystem().filter(name -> !command.isUrgent()).ifPresent(quiet::requireOver);
    if (silent && asking) {
      throw new VolumeException(
          Reason.UNAVAILABLE, "the cluster's manager does not answer; try again later");
    }
    asking |= silent;
    return silent;
  }

  private synchronized VolumeException blocklisted(CephCommand command, CephException e) {
    command.fileSystem().ifPresent(quiet::begin);
    return new VolumeException(
        Reason.UNAVAILABLE,
        "the manager's client of CephFS is blocklisted, repeat the call later: " + e.getMessage(),
        e);
  }

  private synchronized Duration longer() {
    return patience.multipliedBy(1L << doublings);
  }

  private synchronized void answered() {
    silent = false;
    doublings = 0;
  }

  private synchronized void worked(CephCommand command) {
    command.fileSystem().filter(name -> !command.isUrgent()).ifPresent(quiet::worked);
  }

  private synchronized void gaveUp(boolean alone) {
    if (!silent) {
      silent = true;
      LOG.warn("the manager has not answered a command for {}: asking one at a time", patience);
    } else if (alone) {
      doublings = Math.min(doublings + 1, MOST_DOUBLINGS);
    }
  }

  private synchronized void end(CephCommand command, boolean alone) {
    asking &= !alone;
    command.fileSystem().filter(name -> command.isUrgent()).ifPresent(quiet::used);
  }
}
