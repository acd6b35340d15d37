package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.cls.MirrorDaemons;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.Watcher;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.reclaim.luks.LuksUnlock;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.BooleanSupplier;

/**
 * The writing part of a reclaim, with the managed lock of the image: trim, then sparsify. Used by
 * one thread.
 *
 * <p>The lock keeps other clients from writing, so that free ranges stay free until they are
 * discarded. It also keeps librbd from passing a running sparsify on to a client that requests the
 * lock, where it could not be stopped. The lock is released as soon as another client opens the
 * image, and not taken again: the plan is outdated then.
 */
final class ReclaimWork {
  private static final String NOT_ALLOWED =
      "the user may not blocklist clients, which the capability \"profile rbd\" of the monitors"
          + " allows";

  private final RbdImage image;
  private final long ourClientId;
  private final Optional<LuksUnlock> unlock;
  private final ReclaimLock lock;
  private final List<String> nodes;
  private final ReclaimPlan plan;
  private final Operation operation;
  private final ClusterLoad load;
  private final BooleanSupplier mustStop;
  private boolean canFence;
  private boolean writing; // whether anything that changes the image was sent
  private boolean isUncertain; // whether some of that may still be carried out
  private OfflineTrim.Planned planned = OfflineTrim.Planned.notAsked();
  private TrimReport trim = planned.report();
  private volatile String stopped = ""; // set on threads of librbd, too

  /**
   * @param open the image
   * @param unlock of an encrypted image, if that is to be read
   * @param lock the image's
   * @param nodes those that have the volume by the journal
   * @param load holds the work back
   * @param mustStop asked often; must not block
   */
  ReclaimWork(
      ReclaimTarget.Writable open,
      Optional<LuksUnlock> unlock,
      ReclaimLock lock,
      List<String> nodes,
      ReclaimPlan plan,
      Operation operation,
      ClusterLoad load,
      BooleanSupplier mustStop) {
    this.image = open.image();
    this.ourClientId = open.clientId();
    this.unlock = unlock;
    this.lock = lock;
    this.nodes = nodes;
    this.plan = plan;
    this.operation = operation;
    this.load = load;
    this.mustStop = mustStop;
  }

  /** What became of the trim. */
  TrimReport trim() {
    return trim;
  }

  /** Why the work ended early; empty when all was done. */
  String stopped() {
    return stopped;
  }

  /** Does the work, or a part of it. */
  void run() {
    boolean locked = false;
    try {
      // The lock would be taken from a client that opened the image since it was found unused.
      List<Watcher> others = image.otherWatchers(ourClientId);
      Set<Long> daemons = others.isEmpty() ? Set.of() : MirrorDaemons.of(image);
      if (others.stream().anyMatch(other -> !daemons.contains(other.clientId()))) {
        stopped = "another client opened the image";
        return;
      }
      Optional<SkipReason> held = SkipReason.ofLock(image);
      if (held.isPresent()) {
        stopped = held.get().detail();
        return;
      }
      // A discard must be sure to come before whatever the next user writes, or never.
      canFence = lock.canFence();
      if (!canFence && lock.isHeld()) {
        stopped = "the lock of an interrupted reclaim cannot be broken: " + NOT_ALLOWED;
        return;
      }
      locked = lock();
      try (WatcherPoll watch = WatcherPoll.start(image, ourClientId, daemons, locked)) {
        run(locked, watch);
      }
    } catch (CephException.Blocklisted e) {
      stopped = "the cluster has blocklisted this client";
    } catch (CephException.Canceled | CephException.Busy e) {
      stopped = stopped.isEmpty() ? "another client requested the lock of the image" : stopped;
    } catch (CephException.TimedOut e) {
      isUncertain |= writing;
      throw e;
    } finally {
      planned.close();
      if (locked && isUncertain && canFence) {
        lock.fence();
      }
      if (locked && !lock.release() && stopped.isEmpty()) {
        stopped = "its lock could not be given back";
      }
    }
  }

  private void run(boolean locked, WatcherPoll watch) {
    Throttle pace = new Throttle(plan.maxBytesPerSecond(), load);
    BooleanSupplier stop = () -> stopNow(watch);
    if (plan.method().trims() && !stop.getAsBoolean()) {
      trim(locked, pace, stop);
    }
    if (planned.method(plan, image).sparsifies() && !stop.getAsBoolean()) {
      sparsify(pace, stop);
    }
  }

  private boolean stopNow(WatcherPoll watch) {
    if (watch.lockIsLost()) {
      stopped = "the lock of the image was lost";
    } else if (watch.otherWatcherSeen()) {
      stopped = "another client opened the image";
    } else if (watch.isOutdated()) {
      stopped = "the cluster did not answer for long, or this process stood still";
    } else if (operation.isCancelled()) {
      stopped = operation.whyCancelled();
    } else if (mustStop.getAsBoolean()) {
      stopped = "the slot among the reclaims of the cluster was lost";
    }
    return !stopped.isEmpty();
  }

  /** Takes the managed lock, if the image can be locked. */
  private boolean lock() {
    boolean able = image.features().contains(ImageFeature.EXCLUSIVE_LOCK);
    if (!able && plan.enableLock() && plan.method().trims() && canFence && nodes.isEmpty()) {
      image.updateFeatures(Set.of(ImageFeature.EXCLUSIVE_LOCK), true);
      // Asking also makes librbd refresh the open image, without which it knows no lock.
      able = image.features().contains(ImageFeature.EXCLUSIVE_LOCK);
    }
    if (able) {
      lock.acquire();
    }
    return able;
  }

  private void trim(boolean locked, Throttle pace, BooleanSupplier stop) {
    operation.phase("trim");
    if (!canFence) {
      trim = TrimReport.skipped("may_not_blocklist", NOT_ALLOWED, "");
      return;
    }
    if (!locked && plan.enableLock() && !nodes.isEmpty()) {
      trim =
          TrimReport.skipped(
              "published",
              "the image has no feature exclusive-lock, and node "
                  + nodes.get(0)
                  + " has the volume: it may write without a lock and without a watcher",
              "");
      return;
    }
    if (!locked) {
      trim = withoutLock();
      return;
    }
    planned = OfflineTrim.plan(image, plan.trimGranularity(), unlock, stop);
    trim = planned.report();
    if (planned.plan().isEmpty() || stop.getAsBoolean()) {
      trim = trim.discarded(Discarded.NOTHING);
      return;
    }
    writing = true;
    isUncertain = true; // of one that fails or throws, others may be on their way
    TrimPlan ranges = planned.plan().get();
    TrimPlan.Tally sent = ranges.new Tally();
    int inFlight = plan.atOnce(OfflineTrim.DEFAULT_CONCURRENCY);
    try {
      OfflineTrim.discard(image, ranges, inFlight, pace, operation, stop, sent);
      isUncertain = false;
    } finally {
      trim = trim.discarded(sent.sum());
    }
  }

  static TrimReport withoutLock() {
    return TrimReport.skipped(
        "no_exclusive_lock",
        "the image has no feature exclusive-lock; reclaim.enableLock=true turns it on",
        "");
  }

  private void sparsify(Throttle pace, BooleanSupplier stop) {
    operation.phase("sparsify");
    writing = true;
    PacedProgress worked = PacedProgress.of(image, pace);
    image.sparsify(
        SparseSize.of(plan, image),
        (done, total) -> {
          operation.progress(done, total);
          worked.done(done, stop);
          return !stop.getAsBoolean();
        });
  }
}
