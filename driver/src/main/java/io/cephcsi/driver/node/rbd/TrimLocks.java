package io.cephcsi.driver.node.rbd;

import io.cephcsi.driver.node.machine.Polling;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

/**
 * Lets trims give way: a volume is not unmounted while it is trimmed, and nobody who wants to
 * unmount it waits for longer than one slice of the trim. Safe for several threads.
 */
public final class TrimLocks {
  private static final Duration SLICE = Duration.ofSeconds(60);

  private final Map<String, Trim> trims = new HashMap<>();
  private final Map<String, Integer> closed = new HashMap<>();

  /**
   * Begins a trim.
   *
   * @throws VolumeException ABORTED while another trims the volume or it is being unmounted
   */
  synchronized Trim begin(String volumeId) {
    if (trims.containsKey(volumeId) || closed.containsKey(volumeId)) {
      throw new VolumeException(
          Reason.ABORTED,
          "volume " + volumeId + " is being trimmed or unmounted already; try again later");
    }
    Trim trim = new Trim(volumeId);
    trims.put(volumeId, trim);
    return trim;
  }

  /**
   * Stops a trim of the volume and keeps others out until it is closed; blocks until it has ended.
   *
   * @throws VolumeException ABORTED when the trim does not end
   */
  public Stopped stop(String volumeId) {
    synchronized (this) {
      closed.merge(volumeId, 1, Integer::sum);
      Trim trim = trims.get(volumeId);
      if (trim != null) {
        trim.stop = true;
      }
    }
    if (Polling.until(SLICE, () -> !isTrimmed(volumeId))) {
      return () -> open(volumeId);
    }
    open(volumeId);
    throw new VolumeException(
        Reason.ABORTED,
        "volume "
            + volumeId
            + " is being trimmed, and the trim has not stopped in time; try again later");
  }

  private synchronized boolean isTrimmed(String volumeId) {
    return trims.containsKey(volumeId);
  }

  private synchronized void open(String volumeId) {
    closed.computeIfPresent(volumeId, (id, count) -> count == 1 ? null : count - 1);
  }

  private synchronized void leave(String volumeId) {
    trims.remove(volumeId);
  }

  /** A trim that runs, until it is closed. */
  final class Trim implements AutoCloseable {
    private final String volumeId;
    private volatile boolean stop;

    private Trim(String volumeId) {
      this.volumeId = volumeId;
    }

    /** Whether somebody wants to unmount the volume. */
    boolean mustStop() {
      return stop;
    }

    @Override
    public void close() {
      leave(volumeId);
    }
  }

  /** Keeps trims out until it is closed. */
  public interface Stopped extends AutoCloseable {
    @Override
    void close();
  }
}
