package io.cephcsi.driver.cluster;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.RadosCluster;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends the clients of a process that was killed, as soon as this one has a connection of the same
 * user. Safe for several threads.
 *
 * @param record tells of them
 * @param cluster the connection
 * @param stop whether to give up
 */
record DeadClients(ClientRecord record, RadosCluster cluster, BooleanSupplier stop) {
  private static final Logger LOG = LoggerFactory.getLogger(DeadClients.class);
  private static final Duration PAUSE = Duration.ofSeconds(1);

  /** By then the cluster has given them up itself. */
  private static final Duration LONGEST = Duration.ofMinutes(2);

  /**
   * Ends those that no other thread has polled; blocks until that is done, on metadata servers
   * without a timeout.
   *
   * @param clients taken from the record
   */
  void end(Queue<RecordedClient> clients) {
    long end = System.nanoTime() + LONGEST.toNanos();
    for (RecordedClient client = clients.poll(); client != null; client = clients.poll()) {
      while (isToRepeat(client, end)) {
        LockSupport.parkNanos(PAUSE.toNanos());
        if (!record.take(client)) {
          break; // another connection has it, which may be newer
        }
      }
    }
  }

  /** Tries once to end one that is taken, and gives it back if that fails. */
  private boolean isToRepeat(RecordedClient client, long endNanos) {
    boolean done = false;
    try {
      boolean late = System.nanoTime() - endNanos >= 0;
      done = end(client) || (late && !stop.getAsBoolean());
      if (done) {
        record.ended(client);
      }
    } finally {
      record.giveBack(client);
    }
    return !done && !stop.getAsBoolean();
  }

  /** Returns false if it may succeed later. */
  private boolean end(RecordedClient client) {
    long began = System.nanoTime();
    try {
      client.end(cluster, record);
      LOG.info(
          "ended {} of the process that was killed before this one, in {} ms",
          client,
          TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began));
      return true;
    } catch (CephException.Denied e) {
      LOG.info(
          "{} of the process that was killed before this one cannot be ended ({}): what it had open"
              + " is in use until the cluster gives it up, within a minute",
          client,
          e.getMessage());
      return true;
    } catch (CephException.NotFound e) {
      return true;
    } catch (CephException | IllegalStateException e) {
      LOG.info(
          "{} of the process that was killed before this one is not ended yet: {}",
          client,
          e.getMessage());
      return false;
    }
  }
}
