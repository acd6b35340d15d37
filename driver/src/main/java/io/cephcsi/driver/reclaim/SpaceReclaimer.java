package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.cls.AncestryCheck;
import io.cephcsi.bindings.cls.UsageMeter;
import io.cephcsi.bindings.cls.UsageQuery;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.metrics.DriverMetrics;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.profile.Reclaim;
import io.cephcsi.driver.reclaim.ReclaimResult.Outcome;
import io.cephcsi.driver.reclaim.luks.LuksUnlock;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Frees the space of volumes that no client uses, and measures how much. Stops as soon as a client
 * opens the image. Safe for several threads; blocks on the cluster.
 */
public final class SpaceReclaimer {
  private static final Logger LOG = LoggerFactory.getLogger(SpaceReclaimer.class);

  // Without fast-diff every object is asked for: about 18,000 a second.
  private static final long MAX_OBJECTS_WALKED = 200_000;

  private final DriverMetrics metrics;
  private final Admission admission;
  private final ClusterLoad.Limits limits;

  /**
   * @param metrics where reclaims are counted
   * @param admission how many images are reclaimed at once in the cluster
   */
  public SpaceReclaimer(DriverMetrics metrics, Admission admission) {
    this(metrics, admission, ClusterLoad.Limits.USUAL);
  }

  SpaceReclaimer(DriverMetrics metrics, Admission admission, ClusterLoad.Limits limits) {
    this.metrics = metrics;
    this.admission = admission;
    this.limits = limits;
  }

  /**
   * Reclaims one volume.
   *
   * @throws VolumeException FAILED_PRECONDITION when it is in use and the plan says to fail then
   */
  public ReclaimResult reclaim(ReclaimTarget target, ReclaimPlan plan, Operation operation) {
    try (ReclaimRun alone = new ReclaimRun(limits.poll())) {
      return reclaim(target, plan, operation, alone);
    }
  }

  /**
   * Reclaims one volume of several.
   *
   * @param run what they share; of the pool and connection of the target
   * @throws VolumeException FAILED_PRECONDITION when it is in use and the plan says to fail then
   */
  public ReclaimResult reclaim(
      ReclaimTarget target, ReclaimPlan plan, Operation operation, ReclaimRun run) {
    Reclaim event = Reclaim.begun();
    if (event == null) {
      return counted(target, plan, operation, run);
    }
    try {
      ReclaimResult result = counted(target, plan, operation, run);
      long discarded = plan.dryRun() ? 0 : result.trim().discarded().bytes();
      event.ended(target.name(), result.outcome().name(), result.freed(), discarded, 0);
      return result;
    } catch (RuntimeException e) {
      int errno = e instanceof CephException failed ? failed.code() : 0;
      event.ended(target.name(), e.getClass().getSimpleName(), 0, 0, errno);
      throw e;
    }
  }

  private ReclaimResult counted(
      ReclaimTarget target, ReclaimPlan plan, Operation operation, ReclaimRun run) {
    operation.phase("measure");
    ReclaimResult result = reclaimUnlessUsed(target, plan, operation, run);
    metrics.reclaim(
        result.outcome().name().toLowerCase(Locale.ROOT),
        result.freed(),
        plan.dryRun() ? 0 : result.freedObjects());
    Discarded discarded = plan.dryRun() ? Discarded.NOTHING : result.trim().discarded();
    metrics.trim(result.trim().reason(), discarded.bytes(), discarded.insideBytes());
    LOG.info(
        "reclaim of {}: {}, {} bytes before, {} after, {} freed, {} objects freed, {}",
        target.name(),
        result.reason().isEmpty()
            ? described(result.outcome())
            : described(result.outcome()) + ": " + result.reason(),
        shown(result.before()),
        shown(result.after()),
        result.freed(),
        result.freedObjects(),
        result.trim());
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

  private ReclaimResult reclaimUnlessUsed(
      ReclaimTarget target, ReclaimPlan plan, Operation operation, ReclaimRun run) {
    RbdImage image;
    try {
      // Read-only first: this leaves no watcher, so a volume in use is not even brushed against.
      image = target.openReadOnly();
    } catch (CephException.NotFound | VolumeException e) {
      return target
          .inTrash()
          .map(entry -> skipped(SkipReason.inTrash(entry), Usage.UNKNOWN))
          .orElseThrow(() -> e);
    }
    try (image) {
      return reclaimUnlessUsed(target, image, plan, operation, run);
    }
  }

  private ReclaimResult reclaimUnlessUsed(
      ReclaimTarget target, RbdImage image, ReclaimPlan plan, Operation operation, ReclaimRun run) {
    Optional<SkipReason> skip = SkipReason.of(image).or(() -> SkipReason.ofThickness(image, plan));
    if (skip.isPresent() && skip.get().isUse() && plan.failInUse()) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION, "volume " + target.name() + " is " + skip.get().detail());
    }
    if (skip.isPresent()) {
      return skipped(skip.get(), usage(image, plan, operation));
    }
    // What is read, or copied up, may be a parent's.
    AncestryCheck.require(image.pool().io(), image.id());
    Optional<LuksUnlock> unlock =
        plan.decrypt() ? target.passphrase().map(LuksUnlock::new) : Optional.empty();
    try {
      return plan.dryRun()
          ? dryRun(image, unlock, plan, operation)
          : reclaimInTurn(target, image, unlock, plan, operation, run);
    } finally {
      unlock.ifPresent(LuksUnlock::close);
    }
  }

  private ReclaimResult reclaimInTurn(
      ReclaimTarget target,
      RbdImage image,
      Optional<LuksUnlock> unlock,
      ReclaimPlan plan,
      Operation operation,
      ReclaimRun run) {
    IoContext io = image.pool().io();
    ClusterLoad load = new ClusterLoad(run.health(io.cluster()), operation, limits);
    load.hold(operation::isCancelled);
    Optional<Admission.Slot> slot = admission.enter(run, io, target.name(), operation);
    if (slot.isEmpty()) {
      return skipped(
          new SkipReason("cancelled", operation.whyCancelled()), usage(image, plan, operation));
    }
    try (Admission.Slot held = slot.get()) {
      return reclaim(target, image, unlock, plan, operation, load, held);
    }
  }

  private static ReclaimResult skipped(SkipReason skip, Usage usage) {
    TrimReport trim = TrimReport.skipped(skip.reason(), skip.detail(), "");
    return new ReclaimResult(Outcome.SKIPPED, skip.detail(), usage.bytes(), usage.bytes(), 0, trim);
  }

  private static ReclaimResult dryRun(
      RbdImage image, Optional<LuksUnlock> unlock, ReclaimPlan plan, Operation operation) {
    try (OfflineTrim.Planned trim =
        plan.method().trims()
            ? OfflineTrim.plan(image, plan.trimGranularity(), unlock, operation::isCancelled)
            : OfflineTrim.Planned.notAsked()) {
      Usage before = usage(image, plan, operation);
      OptionalLong after = ZeroScan.usageAfter(image, plan, trim, operation);
      return new ReclaimResult(
          Outcome.DRY_RUN,
          "",
          before.bytes(),
          after,
          before.objects().isPresent() && after.isPresent()
              ? wholeObjects(before.bytes().getAsLong() - after.getAsLong(), image)
              : trim.report().discarded().objects(),
          trim.report());
    }
  }

  /** How many objects make up a difference of usages; only the last object can be shorter. */
  private static long wholeObjects(long bytes, RbdImage image) {
    long size = image.layout().objectSize();
    return Math.max(0, (bytes + size - 1) / size);
  }

  private static ReclaimResult reclaim(
      ReclaimTarget target,
      RbdImage image,
      Optional<LuksUnlock> unlock,
      ReclaimPlan plan,
      Operation operation,
      ClusterLoad load,
      Admission.Slot slot) {
    operation.phase("measure");
    Usage before =
        usage(image, plan, operation); // may take long: not while the image is open for writing
    if (unlock.isPresent() && plan.method().trims()) {
      OfflineTrim.prepare(image, unlock.get(), operation::isCancelled);
      if (operation.isCancelled()) {
        return skipped(new SkipReason("cancelled", operation.whyCancelled()), before);
      }
    }
    IoContext io = image.pool().io();
    // It may have waited long, for the cluster and for a slot: all is looked at again.
    AncestryCheck.require(io, image.id());
    ReclaimWork work;
    try (ReclaimTarget.Writable open = target.open(plan.connectionOptions())) {
      Optional<SkipReason> skip =
          SkipReason.ofState(open.image()).or(() -> SkipReason.ofThickness(open.image(), plan));
      if (skip.isPresent()) {
        return skipped(skip.get(), before);
      }
      AncestryCheck.requireOpened(io, open.image());
      List<String> nodes = plan.enableLock() ? target.nodes() : List.of();
      ReclaimLock lock = new ReclaimLock(open.image(), io.cluster());
      work = new ReclaimWork(open, unlock, lock, nodes, plan, operation, load, slot::isLost);
      work.run();
    }
    operation.phase("measure");
    // Over the other connection: a blocklisted client could not read.
    Usage after = usage(image, plan, operation);
    return new ReclaimResult(
        work.stopped().isEmpty() ? Outcome.DONE : Outcome.GAVE_WAY,
        work.stopped(),
        before.bytes(),
        after.bytes(),
        before.objects().isPresent() && after.objects().isPresent()
            ? Math.max(0, before.objects().getAsLong() - after.objects().getAsLong())
            : work.trim().discarded().objects(),
        work.trim());
  }

  /** By the stored object maps, or else over the image opened anew: others can have written. */
  private static Usage usage(RbdImage image, ReclaimPlan plan, Operation operation) {
    return new UsageMeter(image.pool())
        .measure(
            image.id(),
            new UsageQuery(plan.exactUsage(), false, MAX_OBJECTS_WALKED),
            operation::isCancelled)
        .map(usage -> new Usage(OptionalLong.of(usage.headBytes()), usage.headObjects()))
        .orElse(Usage.UNKNOWN);
  }

  /**
   * What the image itself has allocated.
   *
   * @param bytes empty when only too long a walk could tell, or it was stopped
   * @param objects empty without a valid object map
   */
  private record Usage(OptionalLong bytes, OptionalLong objects) {
    static final Usage UNKNOWN = new Usage(OptionalLong.empty(), OptionalLong.empty());
  }
}
