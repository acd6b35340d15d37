package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What the reclaims of images have in common that come one after the other, or at once, over one
 * connection: the cluster's health, and where its {@link ReclaimSlots} are. Both are looked for
 * when the first reclaim needs them, and kept for the others. Safe for several threads.
 */
public final class ReclaimRun implements AutoCloseable {
  private final Duration poll;
  private final List<ReclaimSlots> opened = new ArrayList<>();
  private @Nullable ClusterHealth health;
  private @Nullable ReclaimSlots slots;

  /** Asks nothing yet. */
  public ReclaimRun() {
    this(ClusterLoad.Limits.USUAL.poll());
  }

  ReclaimRun(Duration poll) {
    this.poll = poll;
  }

  /**
   * The health of the cluster; the first call blocks for a question to a monitor.
   *
   * @param cluster the same each time; stays open for as long as this
   */
  synchronized ClusterHealth health(RadosCluster cluster) {
    ClusterHealth watched = health;
    if (watched == null) {
      watched = ClusterHealth.watch(cluster, poll);
      health = watched;
    }
    return watched;
  }

  /**
   * The slots of the cluster; blocks until they are found, see {@link ReclaimSlots#find}.
   *
   * @param image the pool and namespace of the image, of the same connection each time
   * @return empty while all pools are full
   */
  synchronized Optional<ReclaimSlots> slots(IoContext image) {
    if (slots == null) {
      slots = ReclaimSlots.find(image).orElse(null);
      if (slots != null) {
        opened.add(slots);
      }
    }
    return Optional.ofNullable(slots);
  }

  /** Has them looked for again, as after an error: their pool may be full by now, or gone. */
  synchronized void forget(ReclaimSlots failed) {
    if (slots == failed) {
      slots = null; // closed at the end: others may use them
    }
  }

  /** Called when no reclaim uses this any more. */
  @Override
  public synchronized void close() {
    if (health != null) {
      health.close();
    }
    opened.forEach(ReclaimSlots::close);
  }
}
