package io.cephcsi.driver.node.rbd;

import com.sun.management.OperatingSystemMXBean;
import io.cephcsi.driver.cluster.LongStep;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * The memory that all programs together take on this node that make keys of passphrases by Argon2.
 * How much one takes, the header of a volume says, whose writer may be hostile. What drivers format
 * with, 32 MiB, is taken at once. ceph-csi formatted by cryptsetup's own measure before it had a
 * bound, up to 1 GiB: such volumes share the memory that there is, in the order of their calls. One
 * that asks for more than all of it runs alone. Safe for several threads.
 */
final class KeyMemory {
  /** What this driver and ceph-csi format with, in KiB. */
  static final int USUAL_KIB = 32 << 10;

  /** Longer than one runs, so that the first in the queue gets its part. */
  private static final Duration PATIENCE = Duration.ofMinutes(3);

  /** More would keep the threads of their cluster from other volumes. */
  private static final int MOST_WAITING = 16;

  /** An eighth of the machine, or of the container where that has a limit. */
  static final KeyMemory OF_NODE = new KeyMemory(machineBytes() / 8, PATIENCE);

  private final int allKib;
  private final Duration patience;
  private final Semaphore free;

  /**
   * @param bytes in all
   * @param patience how long a program waits for its part
   */
  KeyMemory(long bytes, Duration patience) {
    this.allKib = (int) Math.max(1, Math.min(Integer.MAX_VALUE, bytes >> 10));
    this.patience = patience;
    this.free = new Semaphore(allKib, true);
  }

  private static long machineBytes() {
    return ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getTotalMemorySize();
  }

  /**
   * Does work that takes memory; waits until there is as much. To be called within no other such
   * work.
   *
   * @param kib how much memory
   * @throws VolumeException UNAVAILABLE when others take it for long, or many wait for it, or the
   *     thread is interrupted
   */
  <T> T during(int kib, Supplier<T> work) {
    if (kib <= USUAL_KIB) {
      return work.get();
    }
    int part = Math.min(kib, allKib);
    return LongStep.call(
        () -> {
          take(part);
          try {
            return work.get();
          } finally {
            free.release(part);
          }
        });
  }

  private void take(int part) {
    try {
      if (free.getQueueLength() >= MOST_WAITING
          || !free.tryAcquire(part, patience.toMillis(), TimeUnit.MILLISECONDS)) {
        throw new VolumeException(
            Reason.UNAVAILABLE,
            "other volumes whose headers of LUKS ask for much memory are opened at the same time;"
                + " try again later");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new VolumeException(Reason.UNAVAILABLE, "the call was interrupted", e);
    }
  }
}
