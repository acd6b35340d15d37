package io.cephcsi.driver.rbd.background;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.CommandReply;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.cluster.CephCommand;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Commands to the managers' module rbd_support. They have no timeout in librados. So each is given
 * up after a while, and then the manager is not asked again for a while: each that is given up
 * keeps a thread of its connection. Safe for several threads.
 */
public final class ManagerCommands {
  private static final Logger LOG = LoggerFactory.getLogger(ManagerCommands.class);
  private static final Duration COMMAND_TIMEOUT = Duration.ofSeconds(5);
  private static final Duration SILENCE = Duration.ofMinutes(1);
  private static final int MOST_UNANSWERED = 4;

  private final Map<String, Long> silentUntilNanos = new ConcurrentHashMap<>(); // by fsid

  /**
   * Sends a command; blocks for 5 s at most.
   *
   * @param io a pool of the cluster
   * @throws VolumeException UNAVAILABLE when there is no answer in time, or was none within the
   *     last minute: then it is not known whether the command is carried out
   * @throws CephException with the status line that the manager sent
   */
  public CommandReply send(IoContext io, CephCommand command) {
    String fsid = io.cluster().fsid();
    Long silentUntil = silentUntilNanos.get(fsid);
    if (silentUntil != null
        && (System.nanoTime() - silentUntil < 0
            || io.cluster().unansweredCommands() >= MOST_UNANSWERED)) {
      throw silent();
    }
    try {
      CommandReply reply = command.toManager(io.cluster(), COMMAND_TIMEOUT);
      silentUntilNanos.remove(fsid);
      return reply;
    } catch (CephException.TimedOut e) {
      silentUntilNanos.put(fsid, System.nanoTime() + SILENCE.toNanos());
      LOG.warn("the manager of cluster {} does not answer; it is not asked for {}", fsid, SILENCE);
      throw silent(); // not caused by it: the connection is not to be replaced each minute
    }
  }

  private static VolumeException silent() {
    return new VolumeException(
        Reason.UNAVAILABLE, "the cluster's manager does not answer; try again later");
  }
}
