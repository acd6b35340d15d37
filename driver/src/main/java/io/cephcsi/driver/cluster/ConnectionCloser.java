package io.cephcsi.driver.cluster;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Closes each connection on a thread of its own: closing waits for the calls that run, and a
 * command that a manager does not answer must hold up neither the thread that happened to end the
 * last lease nor the close of another connection. Safe for several threads.
 */
final class ConnectionCloser {
  private static final Logger LOG = LoggerFactory.getLogger(ConnectionCloser.class);

  private final Set<Thread> running = ConcurrentHashMap.newKeySet();

  /**
   * Closes a connection soon; does not block.
   *
   * @param connection one that nobody leases any more
   * @param owner for messages
   */
  void close(Connection connection, Credentials owner) {
    Thread thread = DaemonThreads.of("close-connection", () -> run(connection, owner));
    running.add(thread);
    thread.start();
  }

  private void run(Connection connection, Credentials owner) {
    try {
      closeNow(connection, owner);
    } finally {
      running.remove(Thread.currentThread());
    }
  }

  private static void closeNow(Connection connection, Credentials owner) {
    try {
      connection.close();
    } catch (RuntimeException e) {
      LOG.warn("closing the connection of {} failed: {}", owner, e.toString());
    }
  }

  /** Waits until all that was to be closed is, or the thread is interrupted. */
  void await() {
    try {
      for (Thread thread : running) {
        thread.join();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
