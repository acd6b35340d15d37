package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.Watcher;
import io.cephcsi.driver.metrics.DriverMetrics;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.reclaim.ReclaimResult.Outcome;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Frees the space of volumes that nobody uses, and says exactly how much. Gives way as soon as
 * somebody opens the image. Safe for several threads; blocks on the cluster.
 */
public final class SpaceReclaimer {
  private static final Logger LOG = LoggerFactory.getLogger(SpaceReclaimer.class);

  private static final String IN_USE = "in use";

  private final DriverMetrics metrics;

  /**
   * @param metrics where reclaims are counted
   */
  public SpaceReclaimer(DriverMetrics metrics) {
    this.metrics = metrics;
  }

  /**
   * Reclaims one volume.
   *
   * @throws VolumeException FAILED_PRECONDITION when it is in use and the plan says to fail then
   */
  public ReclaimResult reclaim(ReclaimTarget target, ReclaimPlan plan, Operation operation) {
    operation.phase("measure");
    ReclaimResult result = reclaimUnlessUsed(target, plan, operation);
    metrics.reclaim(result.outcome().name().toLowerCase(Locale.ROOT), result.freed());
    LOG.info(
        "reclaim of {}: {}, {} bytes before, {} after, {} freed",
        target.name(),
        result.reason().isEmpty()
            ? described(result.outcome())
            : described(result.outcome()) + ": " + result.reason(),
        shown(result.before()),
        shown(result.after()),
        result.freed());
    return result;
  }

  private static String described(Outcome outcome) {
    return switch (outcome) {
      case DONE -> "done";
      case DRY_RUN -> "measured only";
      case SKIPPED -> "skipped";
      case GAVE_WAY -> "gave way before the end";
    };
  }

  private static Object shown(OptionalLong bytes) {
    return bytes.isPresent() ? bytes.getAsLong() : "unknown";
  }

  private static ReclaimResult reclaimUnlessUsed(
      ReclaimTarget target, ReclaimPlan plan, Operation operation) {
    // Read-only first: this leaves no watcher, so a volume in use is not even brushed against.
    try (RbdImage image = target.openReadOnly()) {
      String hindrance = hindrance(image);
      if (hindrance.startsWith(IN_USE) && plan.failInUse()) {
        throw new VolumeException(
            Reason.FAILED_PRECONDITION, "volume " + target.name() + " is " + hindrance);
      }
      if (!hindrance.isEmpty()) {
        OptionalLong usage = ImageUsage.measure(image, plan.exactUsage());
        return new ReclaimResult(Outcome.SKIPPED, hindrance, usage, usage);
      }
      if (plan.dryRun()) {
        return new ReclaimResult(
            Outcome.DRY_RUN,
            "",
            ImageUsage.measure(image, plan.exactUsage()),
            ZeroScan.usageAfter(image, plan, operation));
      }
    }
    try (ReclaimTarget.Writable open = target.open(plan.connectionOptions())) {
      RbdImage image = open.image();
      OptionalLong before = ImageUsage.measure(image, plan.exactUsage());
      Outcome outcome = sparsify(image, open.clientId(), plan, operation);
      operation.phase("measure");
      OptionalLong after = ImageUsage.measure(image, plan.exactUsage());
      return new ReclaimResult(outcome, "", before, after);
    }
  }

  /** Why an image must be left alone; empty when it need not. */
  private static String hindrance(RbdImage image) {
    List<Watcher> users = image.watchers();
    if (!users.isEmpty()) {
      return IN_USE + " by " + users.get(0).address();
    }
    if (image.features().contains(ImageFeature.MIGRATING)) {
      return "the image is being migrated";
    }
    if (image.mirroring().filter(mirror -> !mirror.primary()).isPresent()) {
      return "the image is a mirror secondary, written by mirroring only";
    }
    return "";
  }

  /**
   * Frees zeroed ranges while nobody else uses the image. The managed lock keeps librbd from
   * handing the rest of the work to a newcomer who asks for the lock, where it could not be stopped
   * any more; it is given back as soon as one is seen.
   */
  private static Outcome sparsify(
      RbdImage image, long ourClientId, ReclaimPlan plan, Operation operation) {
    operation.phase("sparsify");
    boolean lock = image.features().contains(ImageFeature.EXCLUSIVE_LOCK);
    try {
      if (lock) {
        image.lock().acquire();
      }
      try (UseWatch watch = UseWatch.start(image, ourClientId)) {
        return sparsify(image, plan, operation, watch);
      } finally {
        if (lock) {
          release(image);
        }
      }
    } catch (CephException.Canceled | CephException.Busy e) {
      return Outcome.GAVE_WAY;
    }
  }

  private static Outcome sparsify(
      RbdImage image, ReclaimPlan plan, Operation operation, UseWatch watch) {
    BooleanSupplier stop = () -> watch.somebodyCame() || operation.isCancelled();
    if (stop.getAsBoolean()) {
      return Outcome.GAVE_WAY;
    }
    Pace pace = Pace.of(image, plan.maxBytesPerSecond());
    image.sparsify(
        Math.min(plan.sparseSize(), image.info().objectSize()),
        (done, total) -> {
          operation.progress(done, total);
          pace.await(done, stop);
          return !stop.getAsBoolean();
        });
    return Outcome.DONE;
  }

  private static void release(RbdImage image) {
    try {
      image.lock().release();
    } catch (CephException e) {
      LOG.warn("{}: the lock was lost: {}", image, e.getMessage());
    }
  }
}
