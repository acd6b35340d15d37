package io.cephcsi.driver.operation;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Duration;
import java.time.Instant;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A running operation, as its work sees it: the work reports its phase and progress, and asks
 * whether it was cancelled. Safe for several threads.
 */
public final class Operation {
  private final String kind;
  private final String key;
  private final Instant since;
  private final LongSupplier nanoTime;
  private final long begunNanos;
  private volatile String phase = "waiting";
  private volatile double percent;
  private volatile String cancelled = "";
  private volatile int sharers; // changed by the registry only, one thread at a time
  private final AtomicBoolean begunOrDropped = new AtomicBoolean();
  private volatile @Nullable Consumer<VolumeException> yielding;
  private final Set<String> precedence = ConcurrentHashMap.newKeySet();
  private volatile @Nullable Operation inner;
  private volatile boolean watched;
  private long reports; // used by the thread that reports only

  /**
   * @param since when it begins, for people
   * @param nanoTime tells how long it takes, also while the machine's clock is set
   */
  Operation(String kind, String key, Instant since, LongSupplier nanoTime) {
    this.kind = kind;
    this.key = key;
    this.since = since;
    this.nanoTime = nanoTime;
    this.begunNanos = nanoTime.getAsLong();
  }

  /** What is being done, such as {@code DeleteVolume}. */
  public String kind() {
    return kind;
  }

  /** The volume, snapshot or name that it is done to. */
  public String key() {
    return key;
  }

  /** What is being done now. */
  public String phase() {
    return phase;
  }

  /** How much of the phase is done, 0 to 100. */
  public double percent() {
    return percent;
  }

  /** Begins a phase; the percentage starts at 0 again. */
  public void phase(String name) {
    percent = 0;
    phase = name;
  }

  /** How much of the phase is done. */
  public void progress(long done, long total) {
    percent = total <= 0 ? 0 : Math.min(100, 100.0 * done / total);
  }

  /** Whether the work is to stop at the next safe point. */
  public boolean isCancelled() {
    return !cancelled.isEmpty();
  }

  /** Why the work is to stop; empty while it is not. */
  public String whyCancelled() {
    return cancelled;
  }

  /** How many operations share this place; 0 when it belongs to one alone. */
  int sharers() {
    return sharers;
  }

  void sharers(int count) {
    sharers = count;
  }

  void cancel(String why) {
    cancelled = why;
  }

  /**
   * Lets the operation give way to every other that wants its key.
   *
   * @param dropped told when it gives way before it has begun
   */
  void yields(Consumer<VolumeException> dropped) {
    yielding = dropped;
  }

  /** Begins the work; false if it gave way before, and must not be done. */
  boolean begin() {
    return begunOrDropped.compareAndSet(false, true);
  }

  /**
   * Cancels the operation, which has begun, once one of another kind wants its key; that one is
   * ABORTED until this one has ended. May be called for several kinds.
   *
   * @param kind of the other
   */
  public void endsFor(String kind) {
    precedence.add(kind);
  }

  /**
   * Lets another operation hold the key of this one, too, from when it begins: who wants this key
   * is as if it wanted the other's. This one never gives way itself.
   *
   * @param work of the other operation
   */
  <T> Function<Operation, T> holdFor(Function<Operation, T> work) {
    return operation -> {
      inner = operation;
      return work.apply(operation);
    };
  }

  /**
   * Gives way to an operation of another kind, if this is one that does: at its next safe point
   * once it has begun.
   *
   * @return whether it had not begun, and will not: then the key is free to be taken
   */
  boolean giveWayTo(String other) {
    Operation holder = inner;
    if (holder != null) {
      holder.giveWayTo(other);
      return false;
    }
    if (precedence.contains(other)) {
      cancel(other + " has precedence");
      return false;
    }
    Consumer<VolumeException> dropped = yielding;
    if (dropped == null || other.equals(kind)) {
      return false;
    }
    cancel(other + " has precedence");
    if (!begunOrDropped.compareAndSet(false, true)) {
      return false;
    }
    dropped.accept(
        new VolumeException(
            Reason.ABORTED,
            kind + " of " + key + " was cancelled before it began: " + other + " has precedence"));
    return true;
  }

  /** Lets {@link #isDue} tell of it: it is a call, and no place that a call holds besides. */
  void watch() {
    watched = true;
  }

  boolean isWatched() {
    return watched;
  }

  /** Whether it is work of any length, which nothing waits for. */
  boolean isLong() {
    return yielding != null;
  }

  /** Whether another interval has passed since it began, or since this was true last. */
  boolean isDue(Duration interval) {
    long intervals = took().dividedBy(interval);
    if (!watched || intervals <= reports) {
      return false;
    }
    reports = intervals;
    return true;
  }

  private Duration took() {
    return Duration.ofNanos(nanoTime.getAsLong() - begunNanos);
  }

  /** For ABORTED: what runs, since when, which phase, how far. */
  public String describe() {
    long seconds = took().toSeconds();
    return String.format(
        Locale.ROOT,
        "%s has been running since %s (%d s): phase %s, %.0f %%",
        key.isEmpty() ? kind : kind + " of " + key,
        since,
        seconds,
        phase,
        percent);
  }
}
