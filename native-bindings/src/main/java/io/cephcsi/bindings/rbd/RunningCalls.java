package io.cephcsi.bindings.rbd;

import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The calls that {@link OwnerCalls} made and that have not returned, and whether there is room for
 * another one. Calls on groups have bounds of their own, as large as those of calls on images;
 * closes have none. Safe for several threads; never blocks.
 */
final class RunningCalls {
  private static final Logger LOG = LoggerFactory.getLogger(RunningCalls.class);

  private static final int MOST_OF_IMAGE = 4;
  private static final int MOST_SLOW_OF_IMAGE = 2;
  private static final int MOST_SLOW_OF_POOL = 8;
  private static final int MOST_SILENT_OF_POOL = 32;
  private static final int MOST_GIVEN_UP_OF_POOL = 128;
  private static final int MOST_SLOW = 128;

  private final Set<Call> calls = ConcurrentHashMap.newKeySet();
  private final AtomicLong numbers = new AtomicLong();
  private final Executor threads;
  private final Duration slow;
  private final LongSupplier nanos;

  /**
   * @param threads runs calls, and refuses one if there are too many
   * @param slow how long a call runs before it is a slow one
   * @param nanos the clock
   */
  RunningCalls(Executor threads, Duration slow, LongSupplier nanos) {
    this.threads = threads;
    this.slow = slow;
    this.nanos = nanos;
  }

  /** What runs calls. */
  Executor threads() {
    return threads;
  }

  /** How long a call runs before it is a slow one. */
  Duration slow() {
    return slow;
  }

  /**
   * A call that is about to be made; it counts until {@link Call#end} or the end of its work.
   *
   * @param operation the C function
   */
  Call begin(OwnerCalls.Place place, String operation) {
    return add(new Call(place, operation, false));
  }

  /** As {@link #begin}, of the close of an image. */
  Call beginClose(OwnerCalls.Place place) {
    return add(new Call(place, "rbd_close", true));
  }

  private Call add(Call call) {
    calls.add(call);
    return call;
  }

  /**
   * Whether a call on an image was given up, and no client that has the image locked is known to
   * answer. What was given up but tells its progress is carried out by one that answers. A close
   * tells no progress, and waits for the calls on its image: it says nothing while one is heard.
   */
  boolean isGivenUp(OwnerCalls.Place place, Duration patience) {
    boolean isHeard = false;
    boolean hasLateClose = false;
    for (Call call : calls) {
      if (call.place.equals(place)) {
        boolean isCallHeard = call.wasHeardWithin(patience);
        isHeard |= isCallHeard;
        if (call.isGivenUp && !isCallHeard) {
          if (!call.isClose) {
            return true;
          }
          hasLateClose = true;
        }
      }
    }
    return hasLateClose && !isHeard;
  }

  /** Whether a call on an image was given up, except closes, though it may tell its progress. */
  boolean hasGivenUp(OwnerCalls.Place place) {
    return calls.stream()
        .anyMatch(call -> call.isGivenUp && !call.isClose && call.place.equals(place));
  }

  /** As {@link #hasGivenUp(OwnerCalls.Place)}, of calls of one C function. */
  boolean hasGivenUp(OwnerCalls.Place place, String operation) {
    return calls.stream()
        .anyMatch(
            call -> call.isGivenUp && call.operation.equals(operation) && call.place.equals(place));
  }

  /** Whether a call was given up because of the client with this address. */
  boolean isSilent(String address) {
    return calls.stream().anyMatch(call -> !call.isClose && address.equals(call.silent));
  }

  /**
   * The room that the calls before one leave to it. Those that are heard may take hours, and their
   * owners answer: they hold up others only when they are very many.
   */
  Room roomFor(Call next, Duration patience) {
    int ofPlace = 0;
    int slowOfPlace = 0;
    int slowOfPool = 0;
    int givenUpOfPool = 0;
    int silentOfPool = 0;
    int slowOfAll = 0;
    for (Call call : calls) {
      if (call.number < next.number && call.isCountedWith(next)) {
        boolean isHere = call.place.equals(next.place);
        boolean isOfPool = call.place.isSamePool(next.place);
        boolean isSlow = call.isSlow();
        boolean isHeard = call.wasHeardWithin(patience);
        ofPlace += isHere ? 1 : 0;
        slowOfPlace += isHere && isSlow && !isHeard ? 1 : 0;
        slowOfPool += isOfPool && isSlow && !call.isGivenUp ? 1 : 0;
        givenUpOfPool += isOfPool && call.isGivenUp ? 1 : 0;
        silentOfPool += isOfPool && call.isGivenUp && !isHeard ? 1 : 0;
        slowOfAll += isSlow ? 1 : 0;
      }
    }
    if (ofPlace >= MOST_OF_IMAGE
        || slowOfPlace >= MOST_SLOW_OF_IMAGE
        || silentOfPool >= MOST_SILENT_OF_POOL
        || givenUpOfPool >= MOST_GIVEN_UP_OF_POOL) {
      return Room.UNLESS_LOCKED;
    }
    return slowOfPool >= MOST_SLOW_OF_POOL || slowOfAll >= MOST_SLOW
        ? Room.UNLESS_SILENT
        : Room.FOR_ALL;
  }

  /** Which images there is room for. */
  enum Room {
    FOR_ALL,
    /** None that a client has locked which another call was given up for. */
    UNLESS_SILENT,
    /** None that any other client has locked. */
    UNLESS_LOCKED
  }

  /** A call that has not returned; equal to itself only. */
  final class Call {
    private final OwnerCalls.Place place;
    private final String operation;
    private final boolean isClose;
    private final long number = numbers.getAndIncrement();
    private final long begunNanos = nanos.getAsLong();
    private volatile boolean wasHeard;
    private volatile long heardNanos;
    private volatile boolean isGivenUp;
    private volatile boolean isLeft;
    private volatile @Nullable String silent; // the address of the client that did not answer

    private Call(OwnerCalls.Place place, String operation, boolean isClose) {
      this.place = place;
      this.operation = operation;
      this.isClose = isClose;
    }

    private boolean isCountedWith(Call next) {
      return !isClose && place.isOfGroup() == next.place.isOfGroup();
    }

    private boolean isSlow() {
      return nanos.getAsLong() - begunNanos >= slow.toNanos();
    }

    /** The work, after which the call runs no more. */
    Runnable of(Runnable work) {
      return () -> {
        try {
          work.run();
          if (isLeft) {
            LOG.info("a call on {} that was given up is carried out", place);
          }
        } catch (RuntimeException e) {
          if (isLeft) {
            LOG.info("a call on {} that was given up failed: {}", place, e.toString());
          }
          throw e;
        } finally {
          end();
        }
      };
    }

    /** Says that it does not run, or no more. */
    void end() {
      calls.remove(this);
    }

    /** What notes that there was progress, and passes it on. */
    Progress heard(Progress progress) {
      return (done, total) -> {
        heardNanos = nanos.getAsLong();
        wasHeard = true;
        return progress.progress(done, total);
      };
    }

    boolean wasHeardWithin(Duration time) {
      return wasHeard && nanos.getAsLong() - heardNanos < time.toNanos();
    }

    /** What to say of a checked exception. */
    String failed() {
      return "a call on " + place + " failed";
    }

    /** Says that nobody waits for it, though what carries it out answers. */
    void leave() {
      isLeft = true;
    }

    /**
     * Says that nobody waits for it, as it takes too long.
     *
     * @param owner the address of the client that has the lock and does not answer
     */
    void giveUp(Optional<String> owner) {
      silent = owner.orElse(null);
      isLeft = true;
      isGivenUp = true;
    }
  }
}
