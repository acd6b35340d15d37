package io.cephcsi.driver.node.rbd;

import io.cephcsi.driver.node.machine.Waiting;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

/**
 * Lets trims give way: a volume is not unmounted while it is trimmed, and nobody who wants to
 * unmount it waits for longer than one slice of the trim. Safe for several threads.
 */
public final class TrimGate {
  private static final Duration SLICE = Duration.ofSeconds(60);

  private final Map<String, Pass> trims = new HashMap<>();
  private final Map<String, Integer> closed = new HashMap<>();

  /**
   * Begins a trim.
   *
   * @throws VolumeException ABORTED while another trims the volume or it is being unmounted
   */
  synchronized Pass enter(String volumeId) {
    if (trims.containsKey(volumeId) || closed.containsKey(volumeId)) {
      throw new VolumeException(
          Reason.ABORTED, "volume " + volumeId + " is being trimmed or unmounted already");
    }
    Pass pass = new Pass(volumeId);
    trims.put(volumeId, pass);
    return pass;
  }

  /**
   * Stops a trim of the volume and keeps others out until it is closed; blocks until it has ended.
   *
   * @throws VolumeException ABORTED when the trim does not end
   */
  public Closed close(String volumeId) {
    synchronized (this) {
      closed.merge(volumeId, 1, Integer::sum);
      Pass pass = trims.get(volumeId);
      if (pass != null) {
        pass.stop = true;
      }
    }
    if (Waiting.until(SLICE, () -> !isTrimmed(volumeId))) {
      return () -> open(volumeId);
    }
    open(volumeId);
    throw new VolumeException(
        Reason.ABORTED, "volume " + volumeId + " is being trimmed, which takes long to stop");
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
  final class Pass implements AutoCloseable {
    private final String volumeId;
    private volatile boolean stop;

    private Pass(String volumeId) {
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
  public interface Closed extends AutoCloseable {
    @Override
    void close();
  }
}
