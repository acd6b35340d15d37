package io.cephcsi.driver.tracker;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.driver.profile.TrackerEvent;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The changes of one tracker by this process. One thread at a time writes, for all that wait by
 * then, so threads never compete with each other; with other processes they compete by versions.
 *
 * <p>The last known state is cached. A write that builds on it costs one round trip; when it is
 * refused, because another process wrote or a guess was wrong, the tracker is read.
 */
final class TrackerQueue {
  /** How many keys one write concerns, as long as a change has few: an OSD gives 1,024 at once. */
  private static final int MAX_KEYS = 500;

  private static final int ATTEMPTS = 30;

  private final TrackerStore store;
  private final String name;
  private final String ownKey;
  private final IntConsumer pause;
  private final Queue<Pending<?>> waiting = new ConcurrentLinkedQueue<>();
  private final Semaphore lane = new Semaphore(1);

  // Only for who has the lane.
  private @Nullable CachedTracker remembered;
  private boolean uncertain;

  /**
   * @param snapshotId whose tracker it is
   * @param pause called with the number of failures before the next attempt
   */
  TrackerQueue(TrackerStore store, String snapshotId, IntConsumer pause) {
    this.store = store;
    this.name = TrackerCodec.name(snapshotId);
    this.ownKey = snapshotId;
    this.pause = pause;
  }

  /** Carries out a change, together with those of other threads. */
  <R> R apply(TrackerChange<R> change) {
    TrackerEvent event = TrackerEvent.begun();
    if (event == null) {
      return carryOut(change);
    }
    String result = "";
    int errno = 0;
    try {
      R came = carryOut(change);
      result = change.described(came);
      return came;
    } catch (RuntimeException | Error e) {
      result = e.getClass().getSimpleName();
      errno = e instanceof CephException failed ? failed.code() : 0;
      throw e;
    } finally {
      event.ended(name, change.kind(), change.keys().size(), result, errno);
    }
  }

  private <R> R carryOut(TrackerChange<R> change) {
    Pending<R> mine = new Pending<>(change);
    waiting.add(mine);
    while (!mine.isDone()) {
      if (lane.tryAcquire()) {
        try {
          commit(take());
        } finally {
          lane.release();
          wakeNext();
        }
      } else {
        mine.sleep(); // until it is done, or the lane is free
      }
    }
    return mine.get();
  }

  /** Who waits was in the queue before it found the lane taken: it cannot be overlooked here. */
  private void wakeNext() {
    Pending<?> next = waiting.peek();
    if (next != null) {
      next.wake();
    }
  }

  private Deque<Pending<?>> take() {
    Deque<Pending<?>> changes = new ArrayDeque<>();
    int keys = 0;
    while (keys < MAX_KEYS) {
      Pending<?> next = waiting.poll();
      if (next == null) {
        break;
      }
      keys += next.change.keys().size();
      changes.add(next);
    }
    return changes;
  }

  /** Ends every one of the changes, well or not. */
  private void commit(Deque<Pending<?>> changes) {
    while (!changes.isEmpty()) {
      try {
        write(changes);
      } catch (TrackerFormatException e) {
        if (changes.size() == 1) {
          changes.remove().fail(e);
        } else {
          commit(new ArrayDeque<>(List.of(changes.remove()))); // it may be about another's key
        }
      } catch (RuntimeException | Error e) {
        changes.forEach(change -> change.fail(e));
        changes.clear();
      }
    }
  }

  /** Carries out as many of the first changes as one write can, and removes them. */
  private void write(Deque<Pending<?>> changes) {
    Optional<TrackerModel> guess = guess(changes.element().change);
    if (guess.isPresent() && attempt(changes, guess.get())) {
      return;
    }
    for (int failures = 0; failures < ATTEMPTS; failures++) {
      if (failures > 0) {
        pause.accept(failures);
      }
      if (attempt(changes, read(changes))) {
        return;
      }
    }
    throw tooMany(name);
  }

  static VolumeException tooMany(String name) {
    return new VolumeException(
        Reason.ABORTED,
        "reference tracker " + name + " is written by too many at once; try again later");
  }

  private Optional<TrackerModel> guess(TrackerChange<?> first) {
    CachedTracker last = remembered;
    if (last == null) {
      // Who adds the snapshot's own reference has just made the snapshot.
      return first.keys().equals(Set.of(ownKey)) && first instanceof TrackerChange.Add
          ? Optional.of(TrackerModel.guess(name, null))
          : Optional.empty();
    }
    return mayEmpty(first, last.state())
        ? Optional.empty()
        : Optional.of(TrackerModel.guess(name, last));
  }

  private static boolean mayEmpty(TrackerChange<?> change, TrackerState state) {
    return state.count() == 1 && change instanceof TrackerChange.Remove;
  }

  private TrackerModel read(Deque<Pending<?>> changes) {
    TrackerChange<?> first = changes.element().change;
    CachedTracker last = remembered;
    remembered = null;
    if (last != null && mayEmpty(first, last.state())) {
      return TrackerModel.read(name, readWhole(), true);
    }
    Set<String> keys = new HashSet<>(Set.of(ownKey));
    changes.forEach(change -> keys.addAll(change.change.keys()));
    TrackerState state = store.read(name, keys).orElse(null);
    if (state != null && last != null && last.whole() && last.version() == state.version()) {
      return TrackerModel.read(name, last.state(), true);
    }
    return state != null && mayEmpty(first, state)
        ? TrackerModel.read(name, readWhole(), true)
        : TrackerModel.read(name, state, state == null);
  }

  /** Before the last reference is taken for the last: the count alone must not be believed. */
  private @Nullable TrackerState readWhole() {
    TrackerState state = store.readAll(name).orElse(null);
    if (state != null && state.count() != state.normalReferences()) {
      throw new TrackerFormatException(
          name, "it counts " + state.count() + " references and has " + state.normalReferences());
    }
    return state;
  }

  private boolean attempt(Deque<Pending<?>> changes, TrackerModel model) {
    int applied = 0;
    for (Pending<?> change : changes) {
      // Who takes the last reference deletes the snapshot: no other change goes with that.
      boolean empties = change.change.empties(model);
      if (empties && applied > 0) {
        break;
      }
      change.propose(model);
      applied++;
      if (empties) {
        break;
      }
    }
    // A write of unknown fate may still arrive: any write of ours makes it stale.
    Optional<TrackerWrite> write = model.write(uncertain);
    if (write.isPresent()) {
      OptionalLong version = write(write.get());
      if (version.isEmpty()) {
        return false;
      }
      remembered = model.after(version.getAsLong(), ownKey);
    } else if (model.isGuess()) {
      return false; // nothing to write, and so nothing that proves the guess
    } else {
      remembered = model.after(model.readVersion(), ownKey);
    }
    for (int i = 0; i < applied; i++) {
      changes.remove().finish();
    }
    return true;
  }

  private OptionalLong write(TrackerWrite write) {
    remembered = null;
    boolean before = uncertain;
    uncertain = true;
    OptionalLong version = store.write(name, write);
    uncertain = before && version.isEmpty();
    return version;
  }

  /** A change that waits for its result; changed only by who has the lane. */
  private static final class Pending<R> {
    private final TrackerChange<R> change;
    private final Semaphore wakings = new Semaphore(0);
    private @Nullable R proposed;
    private @Nullable R result;
    private @Nullable Throwable failure;
    private volatile boolean done;

    Pending(TrackerChange<R> change) {
      this.change = change;
    }

    /** Applies the change to a model that may yet turn out stale. */
    void propose(TrackerModel model) {
      proposed = change.apply(model);
    }

    void finish() {
      result = proposed;
      done = true;
      wake();
    }

    void fail(Throwable e) {
      failure = e;
      done = true;
      wake();
    }

    boolean isDone() {
      return done;
    }

    void wake() {
      wakings.release();
    }

    /** Interruption would not end the write. */
    void sleep() {
      wakings.acquireUninterruptibly();
    }

    R get() {
      if (failure instanceof RuntimeException e) {
        throw e;
      }
      if (failure instanceof Error e) {
        throw e;
      }
      R value = result;
      if (value == null) {
        throw new IllegalStateException("the change was not carried out");
      }
      return value;
    }
  }
}
