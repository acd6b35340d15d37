package io.cephcsi.driver.rbd.background;

import io.cephcsi.bindings.rados.CommandReply;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.cluster.CephCommand;
import io.cephcsi.driver.cluster.ClusterWorkers;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Commands to the managers' module rbd_support. They have no timeout in librados. So each cluster
 * has threads for them, and after an unanswered command the manager is not asked again for a while.
 * Safe for several threads.
 */
public final class ManagerCommands implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ManagerCommands.class);
  private static final Duration COMMAND_TIMEOUT = Duration.ofSeconds(5);
  private static final Duration SILENCE = Duration.ofMinutes(1);

  private final ClusterWorkers commands = new ClusterWorkers("mgr-command", 4, 100);
  private final Map<String, Long> silentUntilNanos = new ConcurrentHashMap<>(); // by fsid

  /**
   * Sends a command; blocks for 5 s at most.
   *
   * @param io a pool of the cluster
   * @throws VolumeException UNAVAILABLE when there is no answer in time, or was none within the
   *     last minute: then it is not known whether the command is carried out
   * @throws io.cephcsi.bindings.error.CephException with the status line that the manager sent
   */
  public CommandReply send(IoContext io, CephCommand command) {
    String fsid = io.cluster().fsid();
    Long silentUntil = silentUntilNanos.get(fsid);
    if (silentUntil != null && System.nanoTime() - silentUntil < 0) {
      throw silent(null);
    }
    try {
      Future<CommandReply> reply = commands.of(fsid).submit(() -> command.toManager(io.cluster()));
      try {
        return reply.get(COMMAND_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
      } finally {
        reply.cancel(false); // one that waits for a thread must not be sent later
      }
    } catch (TimeoutException | RejectedExecutionException e) {
      silentUntilNanos.put(fsid, System.nanoTime() + SILENCE.toNanos());
      LOG.warn("the manager of cluster {} does not answer; it is not asked for {}", fsid, SILENCE);
      throw silent(e);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof RuntimeException cause) {
        throw cause;
      }
      throw new IllegalStateException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw silent(e);
    }
  }

  private static VolumeException silent(@Nullable Exception cause) {
    String message = "the cluster's manager does not answer; try again later";
    return cause == null
        ? new VolumeException(Reason.UNAVAILABLE, message)
        : new VolumeException(Reason.UNAVAILABLE, message, cause);
  }

  @Override
  public void close() {
    commands.close();
  }
}
