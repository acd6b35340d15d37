package io.cephcsi.driver.cli;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.cluster.DaemonThreads;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.reclaim.ImageEstimate;
import io.cephcsi.driver.reclaim.PoolEstimator;
import io.cephcsi.driver.reclaim.PoolPlan;
import io.cephcsi.driver.reclaim.ReclaimPlan;
import io.cephcsi.driver.reclaim.ReclaimResult;
import io.cephcsi.driver.reclaim.ReclaimRun;
import io.cephcsi.driver.reclaim.SpaceReclaimer;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Trims the images of a pool, several at once, in the order of a plan. What becomes of each is
 * recorded as soon as it is known. Used by one thread, but for {@link #stop} and {@link #progress}.
 */
final class PoolReclaim {
  private static final String TIME_IS_UP = "the budget of time is used up";
  private static final int PATIENCE = 5; // images without an answer of the cluster

  private final ClusterOptions connection;
  private final IoContext io;
  private final ReclaimPlan plan;
  private final PoolReclaimOptions options;
  private final SpaceReclaimer reclaimer;
  private final OperationRegistry operations;
  private final PoolState state;
  private final AtomicInteger timeouts = new AtomicInteger();
  private final AtomicInteger ended = new AtomicInteger();
  private final AtomicReference<@Nullable RuntimeException> broken = new AtomicReference<>();
  private volatile @Nullable PoolQueue queue;
  private volatile int toDo;
  private volatile boolean stopping;
  private volatile boolean timeIsUp;
  private volatile boolean failed;
  private volatile boolean incomplete;

  /**
   * @param connection opens a connection for each image that is worked on
   * @param io the pool and namespace
   * @param plan how each image is trimmed; its rate is for all together
   */
  PoolReclaim(
      ClusterOptions connection,
      IoContext io,
      ReclaimPlan plan,
      PoolReclaimOptions options,
      SpaceReclaimer reclaimer,
      OperationRegistry operations,
      PoolState state) {
    this.connection = connection;
    this.io = io;
    this.plan = plan;
    this.options = options;
    this.reclaimer = reclaimer;
    this.operations = operations;
    this.state = state;
  }

  /** Estimates, and trims unless it is a dry run. */
  PoolPlan run() {
    CountDownLatch over = new CountDownLatch(1);
    options
        .budget()
        .time()
        .ifPresent(time -> DaemonThreads.of("reclaim-time", () -> endAfter(time, over)).start());
    try {
      if (state.isToBeEstimated()) {
        estimate();
      }
      PoolPlan chosen = PoolPlan.of(state.estimates(), options.top(), options.minBytes());
      if (!plan.dryRun() && !endsEarly()) {
        trim(chosen);
      }
      return chosen;
    } finally {
      over.countDown();
    }
  }

  private void endAfter(Duration time, CountDownLatch over) {
    try {
      if (!over.await(time.toMillis(), TimeUnit.MILLISECONDS)) {
        timeIsUp = true;
        end(TIME_IS_UP);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private boolean endsEarly() {
    return stopping || timeIsUp;
  }

  private void estimate() {
    PoolEstimator estimator =
        new PoolEstimator(io, plan, options.workers(), options.estimateRate());
    try {
      boolean all =
          operations
              .start(
                  io.pool(),
                  "estimate",
                  Runnable::run,
                  operation -> estimator.run(operation, state::knows, state::add))
              .join();
      if (all) {
        state.estimated();
      }
      incomplete = !all && !timeIsUp;
    } catch (VolumeException e) {
      if (!endsEarly()) { // else it was not even begun
        throw e;
      }
    } catch (CompletionException e) {
      throw e.getCause() instanceof RuntimeException cause ? cause : e;
    } finally {
      state.save();
    }
  }

  private void trim(PoolPlan chosen) {
    List<ImageEstimate> left =
        chosen.chosen().stream()
            .filter(image -> state.outcome(image).filter(PoolOutcome::isLast).isEmpty())
            .toList();
    PoolQueue images = new PoolQueue(left, options.budget().bytes(), state.discardedBytes());
    toDo = left.size();
    queue = images;
    if (endsEarly()) {
      images.stop();
    }
    int atOnce = Math.max(1, Math.min(plan.sharers(options.reclaims()), left.size()));
    ReclaimPlan each = plan.sharedBy(atOnce);
    try (ReclaimRun run = new ReclaimRun()) {
      CountDownLatch working = new CountDownLatch(atOnce);
      for (int i = 0; i < atOnce; i++) {
        DaemonThreads.of("reclaim-" + i, () -> work(images, each, run, working)).start();
      }
      await(working);
    }
    incomplete |= stopping && images.left() > 0;
    RuntimeException failure = broken.get();
    if (failure != null) {
      throw failure;
    }
  }

  private static void await(CountDownLatch working) {
    try {
      working.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  /** On SIGINT or SIGTERM: ends at the next safe points, with the locks given back. */
  void stop() {
    stopping = true;
    end("the command was told to end");
  }

  private void end(String why) {
    PoolQueue images = queue;
    if (images != null) {
      images.stop();
    }
    operations.stop();
    operations.cancelAll(why);
  }

  private void work(PoolQueue images, ReclaimPlan each, ReclaimRun run, CountDownLatch working) {
    try (KeptConnection own = new KeptConnection(connection)) {
      for (Optional<ImageEstimate> next = images.next(); next.isPresent(); next = images.next()) {
        long discarded = 0;
        try {
          discarded = trim(next.get(), each, run, own);
        } finally {
          images.ended(next.get(), discarded);
          ended.incrementAndGet();
        }
      }
    } catch (RuntimeException e) {
      broken.compareAndSet(null, e);
      images.stop();
    } finally {
      working.countDown();
    }
  }

  private long trim(ImageEstimate image, ReclaimPlan each, ReclaimRun run, KeptConnection own) {
    ImageRef ref = new ImageRef(io.pool(), io.namespace(), image.name());
    PoolOutcome outcome;
    try {
      CliTarget target = new CliTarget(own, io, ref, image.id());
      ReclaimResult result =
          operations
              .start(
                  ref + " (" + image.id() + ")",
                  "reclaim",
                  Runnable::run,
                  operation -> reclaimer.reclaim(target, each, operation, run))
              .join();
      outcome = PoolOutcome.of(result);
    } catch (CompletionException | VolumeException e) {
      Throwable cause = e instanceof CompletionException && e.getCause() != null ? e.getCause() : e;
      outcome = failure(cause);
    }
    if (outcome.kind() != PoolOutcome.Kind.DONE) {
      own.close(); // it may be shut out
    }
    boolean endedEarly = endsEarly();
    if (endedEarly && outcome.discardedBytes() == 0 && !outcome.isLast()) {
      return 0; // as if it had not been begun
    }
    note(outcome, endedEarly);
    state.record(image, outcome);
    return outcome.discardedBytes();
  }

  private PoolOutcome failure(Throwable cause) {
    String why = String.valueOf(cause.getMessage());
    if (cause instanceof CephException.NotFound
        || (cause instanceof VolumeException e && e.reason() == Reason.NOT_FOUND)) {
      return PoolOutcome.without(PoolOutcome.Kind.GONE, why);
    }
    if (cause instanceof CephException.TimedOut timedOut
        && timeouts.incrementAndGet() >= PATIENCE) {
      broken.compareAndSet(null, timedOut);
      end("the cluster does not answer");
    }
    if (!(cause instanceof CephException || cause instanceof VolumeException)) {
      broken.compareAndSet(null, new IllegalStateException(cause));
      end("an error of the program");
    }
    return PoolOutcome.without(PoolOutcome.Kind.FAILED, why);
  }

  private void note(PoolOutcome outcome, boolean endedEarly) {
    switch (outcome.kind()) {
      case FAILED -> failed = true;
      case SKIPPED, GAVE_WAY, REFUSED -> incomplete |= !endedEarly || stopping;
      case DONE, GONE -> {}
    }
  }

  /** Whether an image could not be worked on. */
  boolean hasFailed() {
    return failed;
  }

  /** Whether not all was done that the budget allows. */
  boolean isIncomplete() {
    return incomplete;
  }

  /** Why images are left that were not begun; empty when none are. */
  String whyLeft() {
    PoolQueue images = queue;
    if (stopping) {
      return "stopped";
    }
    return timeIsUp || (images != null && images.isUsedUp()) ? "budget" : "";
  }

  /** How far it is, for a line on the terminal. */
  Optional<String> progress() {
    int all = toDo;
    if (all > 0) {
      String text = String.format(Locale.ROOT, "reclaim: %d of %d images", ended.get(), all);
      return Optional.of(ProgressLine.bar(text, 100.0 * ended.get() / all));
    }
    return operations.running().stream()
        .findFirst()
        .map(o -> ProgressLine.bar(o.key() + " " + o.phase(), o.percent()));
  }
}
