package io.cephcsi.driver.operation;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.Ticker;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The running operations: one at a time for each volume, snapshot or name. An operation belongs to
 * the driver, not to the call that started it: it goes on, and stays registered, when its caller
 * disconnects. Safe for several threads; nothing here blocks.
 */
public final class OperationRegistry {
  private static final Duration KEEP_RESULTS = Duration.ofMinutes(10);
  private static final int MAX_RESULTS = 10_000;

  private final ConcurrentHashMap<String, Operation> running = new ConcurrentHashMap<>();
  private final ConcurrentHashMap<String, CompletableFuture<@Nullable Void>> lastInTurn =
      new ConcurrentHashMap<>();
  private final Set<Operation> reads = ConcurrentHashMap.newKeySet();
  private final Cache<String, Kept> results;
  private final Clock clock;
  private final Ticker ticker;
  private final Duration answerWithin;
  private volatile boolean stopping;

  /**
   * A registry that keeps results for 10 minutes.
   *
   * @param answerWithin after how long a caller of {@link #start} gets DEADLINE_EXCEEDED while the
   *     operation goes on: some calls of librados have no timeout of their own
   */
  public OperationRegistry(Duration answerWithin) {
    this(Clock.systemUTC(), Ticker.systemTicker(), KEEP_RESULTS, answerWithin);
  }

  OperationRegistry(Clock clock, Ticker ticker, Duration keepResults, Duration answerWithin) {
    this.clock = clock;
    this.ticker = ticker;
    this.answerWithin = answerWithin;
    this.results =
        Caffeine.newBuilder()
            .expireAfterWrite(keepResults)
            .maximumSize(MAX_RESULTS)
            .ticker(ticker)
            .build();
  }

  /** The key that operations on the request name of a volume lock. */
  public static String volumeName(String requestName) {
    return "name " + requestName;
  }

  /** The key that operations on the request name of a snapshot lock. */
  public static String snapshotName(String requestName) {
    return "snapshot name " + requestName;
  }

  /** The key that operations on the request name of a volume group, or its snapshot, lock. */
  public static String groupName(String requestName) {
    return "group name " + requestName;
  }

  /**
   * Starts an operation, unless one with its key runs.
   *
   * @param key what the operation locks
   * @param kind what is done, for messages
   * @param executor runs the work
   * @param work the work, given the handle to report progress with
   * @return completes with the result of the work, on the executor's thread, or with
   *     DEADLINE_EXCEEDED
   * @throws VolumeException ABORTED when an operation with this key runs; UNAVAILABLE when the
   *     driver stops or the executor is full
   */
  public <T> CompletableFuture<T> start(
      String key, String kind, Executor executor, Function<Operation, T> work) {
    return inTime(kind + " of " + key, launch(key, kind, false, executor, work));
  }

  /**
   * As {@link #start}, for operations that come at once for several things of one key, such as the
   * pods of a node that use a volume: each waits for those before it. An operation that was begun
   * by {@link #start} is not waited for: ABORTED.
   *
   * @param part the one of these things: a second operation with it is ABORTED, so no more can wait
   *     than there are; the first may end for that ({@link Operation#endsFor})
   */
  public <T> CompletableFuture<T> startInTurn(
      String key, String part, String kind, Executor executor, Function<Operation, T> work) {
    Operation own = claim(part, kind);
    CompletableFuture<@Nullable Void> ended = new CompletableFuture<>();
    CompletableFuture<@Nullable Void> before = lastInTurn.put(key, ended);
    CompletableFuture<T> mine =
        (before == null ? CompletableFuture.<@Nullable Void>completedFuture(null) : before)
            .thenCompose(nothing -> launch(key, kind, false, executor, own.holdFor(work)))
            .whenComplete(
                (result, failure) -> {
                  running.remove(part, own);
                  lastInTurn.remove(key, ended);
                  ended.complete(null);
                });
    return inTime(kind + " of " + key, mine);
  }

  /**
   * Runs work that only reads and that nothing needs to wait for: it locks no key. What has not
   * begun when its caller gets DEADLINE_EXCEEDED is not done any more.
   *
   * @return as {@link #start}
   */
  public <T> CompletableFuture<T> read(String what, Executor executor, Supplier<T> work) {
    Operation operation = new Operation(what, "", clock.instant(), ticker::read);
    operation.watch();
    reads.add(operation);
    try {
      CompletableFuture<T> reading =
          CompletableFuture.supplyAsync(
              () -> {
                operation.phase("running");
                return work.get();
              },
              executor);
      return inTime(what, reading)
          .whenComplete(
              (result, failure) -> {
                reading.cancel(false);
                reads.remove(operation);
              });
    } catch (RejectedExecutionException e) {
      reads.remove(operation);
      throw tooMany(e);
    }
  }

  private <T> CompletableFuture<T> inTime(String what, CompletableFuture<T> future) {
    return future
        .copy()
        .orTimeout(answerWithin.toMillis(), TimeUnit.MILLISECONDS)
        .exceptionallyCompose(
            failure ->
                CompletableFuture.failedFuture(
                    failure instanceof TimeoutException
                        ? new VolumeException(
                            Reason.DEADLINE_EXCEEDED,
                            what
                                + " has no result after "
                                + answerWithin
                                + " and goes on; repeat the call for its result")
                        : failure));
  }

  private static VolumeException tooMany(RejectedExecutionException e) {
    return new VolumeException(
        Reason.UNAVAILABLE, "too many operations wait for this cluster; try again later", e);
  }

  private <T> CompletableFuture<T> launch(
      String key, String kind, boolean yields, Executor executor, Function<Operation, T> work) {
    if (stopping) {
      throw new VolumeException(Reason.UNAVAILABLE, "the driver is stopping");
    }
    Operation operation = claim(key, kind);
    operation.watch();
    CompletableFuture<T> future = new CompletableFuture<>();
    if (yields) {
      operation.yields(future::completeExceptionally);
    }
    try {
      executor.execute(() -> run(key, operation, work, future));
    } catch (RejectedExecutionException e) {
      running.remove(key, operation);
      throw tooMany(e);
    }
    return future;
  }

  /**
   * As {@link #start}, for work of any length whose result matters to the retry of a caller that
   * went away: when the caller is gone at the end, the result of success is kept, and the next call
   * with the same key and fingerprint gets it instead of starting anew. It gives way to operations
   * of other kinds on the key: it is told to stop at its next safe point and they are ABORTED until
   * then; while it still waits for a thread, it fails with ABORTED itself and they go on at once.
   *
   * @param fingerprint equal for equal requests; without secrets
   * @param callerGone asked when the work has ended
   */
  @SuppressWarnings("unchecked") // the fingerprint says that the request, so the type, is the same
  public <T> CompletableFuture<T> startKept(
      String key,
      String kind,
      String fingerprint,
      BooleanSupplier callerGone,
      Executor executor,
      Function<Operation, T> work) {
    Kept kept = results.getIfPresent(key);
    if (kept != null
        && kept.fingerprint.equals(fingerprint)
        && !running.containsKey(key)
        && results.asMap().remove(key, kept)) { // an operation that starts now drops it
      return CompletableFuture.completedFuture((T) kept.result);
    }
    return launch(
        key,
        kind,
        true,
        executor,
        operation -> {
          T result = work.apply(operation);
          if (callerGone.getAsBoolean()) {
            results.put(key, new Kept(fingerprint, result));
          }
          return result;
        });
  }

  /**
   * Locks a second key for as long as a part of an operation takes, such as the request name while
   * a volume is deleted by its id. An operation that runs may do so after {@link #stop()} too: it
   * is to end well.
   *
   * @throws VolumeException ABORTED when an operation with this key runs
   */
  public Hold hold(String key, String kind) {
    Operation operation = claim(key, kind);
    return () -> running.remove(key, operation);
  }

  /**
   * Locks several keys, in the order of their texts, or none.
   *
   * @throws VolumeException ABORTED when an operation with one of these keys runs
   */
  public Hold holdAll(Collection<String> keys, String kind) {
    Deque<Hold> held = new ArrayDeque<>();
    Hold all = () -> held.forEach(Hold::close);
    try {
      for (String key : new TreeSet<>(keys)) {
        held.push(hold(key, kind));
      }
    } catch (VolumeException e) {
      all.close();
      throw e;
    }
    return all;
  }

  /**
   * Locks a key together with others that only read what it stands for, such as the snapshot that
   * several volumes are being made from; it excludes calls that need the key exclusively.
   *
   * <p>Order: an operation first claims its own key, a request's name or an id, then shares its
   * sources. Nothing ever waits for a key, so no order can deadlock; who comes second is ABORTED.
   *
   * @throws VolumeException ABORTED when an operation has this key for itself
   */
  public Hold share(String key, String kind) {
    Operation mine = new Operation(kind, key, clock.instant(), ticker::read);
    gaveWay(running.get(key), kind);
    Operation shared =
        running.compute(
            key,
            (k, present) -> {
              Operation holder = present == null ? mine : present;
              if (present == null || present.sharers() > 0) {
                holder.sharers(holder.sharers() + 1);
              }
              return holder;
            });
    if (shared.sharers() == 0) {
      throw pending(shared);
    }
    AtomicBoolean released = new AtomicBoolean();
    return () -> {
      if (released.compareAndSet(false, true)) {
        running.computeIfPresent(
            key,
            (k, holder) -> {
              holder.sharers(holder.sharers() - 1);
              return holder.sharers() == 0 ? null : holder;
            });
      }
    };
  }

  private static VolumeException pending(Operation other) {
    return new VolumeException(
        Reason.ABORTED, "an operation is already pending: " + other.describe());
  }

  private Operation claim(String key, String kind) {
    Operation operation = new Operation(kind, key, clock.instant(), ticker::read);
    Operation other = running.putIfAbsent(key, operation);
    if (gaveWay(other, kind)) {
      other = running.putIfAbsent(key, operation);
    }
    if (other != null) {
      throw pending(other);
    }
    results.invalidate(key); // whatever is kept is about a state that ends now
    return operation;
  }

  /** Asks an operation to give way; true if it had not begun, and its key is free now. */
  private boolean gaveWay(@Nullable Operation other, String kind) {
    return other != null && other.giveWayTo(kind) && running.remove(other.key(), other);
  }

  private <T> void run(
      String key, Operation operation, Function<Operation, T> work, CompletableFuture<T> future) {
    if (!operation.begin()) {
      return; // it gave way, and its callers have their result
    }
    T result = null;
    Throwable failure = null;
    try {
      operation.phase("running");
      result = work.apply(operation);
    } catch (Throwable t) {
      failure = t;
    }
    // The place is free before the caller hears of it: the caller's next call must not meet it.
    running.remove(key, operation);
    complete(future, result, failure);
  }

  private static <T> void complete(
      CompletableFuture<T> future, @Nullable T result, @Nullable Throwable failure) {
    if (failure != null) {
      future.completeExceptionally(failure);
    } else {
      future.complete(result);
    }
  }

  /** How many calls run or wait now, each once however many keys it holds; reads, too. */
  public int calls() {
    return reads.size() + (int) running.values().stream().filter(Operation::isWatched).count();
  }

  /** The operations that run now. */
  public List<Operation> running() {
    return List.copyOf(running.values());
  }

  /** The calls that another interval has passed for; for one thread. */
  List<Operation> due(Duration interval) {
    return Stream.of(running.values(), reads)
        .flatMap(Collection::stream)
        .filter(operation -> operation.isDue(interval))
        .toList();
  }

  /** Refuses operations from now on; those that run go on. */
  public void stop() {
    stopping = true;
  }

  /** Asks all running operations to stop at their next safe point. */
  public void cancelAll() {
    cancelAll("the driver stops");
  }

  /** As {@link #cancelAll()}, with the reason for those who ask how the operations ended. */
  public void cancelAll(String why) {
    running.values().forEach(operation -> operation.cancel(why));
  }

  /** A key that is locked until it is closed. */
  public interface Hold extends AutoCloseable {
    @Override
    void close();
  }

  /** The result of an operation whose caller was gone. */
  private record Kept(String fingerprint, @Nullable Object result) {}
}
