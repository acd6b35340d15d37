package io.cephcsi.bindings.rbd;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.internal.TaskWait;
import io.cephcsi.bindings.rados.ConnectionSettings;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs the calls on an image that another client may have to carry out, or give its lock away for.
 * librbd asks the client that has the exclusive lock, without end and whatever timeouts are set, if
 * that client keeps its watch and does not answer. So each such call runs on a thread of its own,
 * and its caller waits for a time: four operation timeouts, and again for as long as there is
 * progress and no other client has the lock. Then the call is given up. It keeps its thread, the
 * open image and the connection until it returns; until then, further such calls on the image fail
 * at once.
 *
 * <p>Threads are bounded for all images together, and those that one image or the given-up calls of
 * one pool may take, too, see {@link RunningCalls}. So what does not answer takes few threads, and
 * holds up no image that nobody else has locked. Until many calls of a pool are given up, it holds
 * up no image either that a client has locked which does answer.
 *
 * <p>Safe for several threads.
 */
final class OwnerCalls {
  private static final Logger LOG = LoggerFactory.getLogger(OwnerCalls.class);
  private static final String CARRIED_OUT = "another client still carries it out";
  private static final String OF_GROUP = "group "; // no id of an image has a space

  private static final Duration SLOW = Duration.ofSeconds(2);
  private static final int TIMEOUTS = 4;
  private static final int KEPT = 1; // for calls that come one after the other
  private static final int MOST = 512;
  private static final long IDLE_SECONDS = 5; // an idle thread has some 130 KB of memory

  private static final RunningCalls OF_PROCESS =
      new RunningCalls(
          new ThreadPoolExecutor(
              KEPT,
              MOST,
              IDLE_SECONDS,
              TimeUnit.SECONDS,
              new SynchronousQueue<>(),
              OwnerCalls::daemon),
          SLOW,
          System::nanoTime);

  private final Place place;
  private final LockOwners owners;
  private final Duration patience;
  private final Executor longWaits;
  private final RunningCalls calls;

  /**
   * @param patience how long a call may take without progress
   * @param longWaits runs, on the calling thread, what waits for long
   */
  OwnerCalls(
      Place place, LockOwners owners, Duration patience, Executor longWaits, RunningCalls calls) {
    this.place = place;
    this.owners = owners;
    this.patience = patience;
    this.longWaits = longWaits;
    this.calls = calls;
  }

  private static OwnerCalls of(RbdPool pool, String key, LockOwners owners) {
    ConnectionSettings settings = pool.io().cluster().settings();
    return new OwnerCalls(
        new Place(pool.io().cluster().fsid(), pool.io().poolId(), pool.io().namespace(), key),
        owners,
        settings.operationTimeout().multipliedBy(TIMEOUTS),
        settings.longWaits(),
        OF_PROCESS);
  }

  /** What the calls are about. */
  Place place() {
    return place;
  }

  /** Calls on an image. */
  static OwnerCalls ofImage(RbdPool pool, String imageId) {
    return of(pool, imageId, LockOwners.ofImage(pool, imageId));
  }

  /** Calls on all images of a group. */
  static OwnerCalls ofGroup(RbdPool pool, String name) {
    return of(pool, OF_GROUP + name, LockOwners.ofGroup(pool, name));
  }

  private static Thread daemon(Runnable task) {
    Thread thread = new Thread(task, "rbd-change");
    thread.setDaemon(true);
    return thread;
  }

  /**
   * Runs a call and waits for it.
   *
   * @param operation the C function, for errors
   * @param object what it is about, for errors
   * @throws CephException.OwnerSilent when it is given up, or is not begun
   * @throws RuntimeException what the call threw
   */
  void run(String operation, String object, Runnable call) {
    run(operation, object, Progress.NONE, progress -> call.run());
  }

  /**
   * As {@link #run(String, String, Runnable)}, of a call that tells its progress. It is not begun
   * while another client carries one of the same kind out: that client would begin it after the
   * other one, and tell nothing until then, so that it would seem not to answer.
   *
   * @param call is to tell its progress to what it is given
   */
  void run(String operation, String object, Progress progress, Consumer<Progress> call) {
    requireAnswers(operation, object);
    if (calls.hasGivenUp(place, operation)) {
      throw silent(operation, object, CARRIED_OUT);
    }
    RunningCalls.Call running = calls.begin(place, operation);
    FutureTask<Boolean> task =
        new FutureTask<>(running.of(() -> call.accept(running.heard(progress))), true);
    boolean isBegun = false;
    try {
      requireRoom(operation, object, running);
      calls.threads().execute(task);
      isBegun = true;
    } catch (RejectedExecutionException e) {
      throw notBegun(operation, object, "");
    } finally {
      if (!isBegun) {
        running.end();
      }
    }
    if (!await(task, running)) {
      throw silent(
          operation,
          object,
          running.wasHeardWithin(patience)
              ? CARRIED_OUT
              : why("there is no answer after " + patience));
    }
  }

  /**
   * Requires that no call on the image was given up that is still carried out, unless its owner
   * tells progress; no round trip.
   *
   * @throws CephException.OwnerSilent if one was
   */
  void requireAnswers(String operation, String object) {
    if (calls.isGivenUp(place, patience)) {
      throw silent(operation, object, why("a call before is not carried out yet"));
    }
  }

  /**
   * Closes an open image. Waits as {@link #run}; what is given up goes on, and is no error. Not for
   * long if a call on the image was given up, as that may be what the close waits for: at once if
   * there is no answer, and after two seconds if there is.
   *
   * @throws RuntimeException what the close threw
   */
  void close(Runnable closing) {
    RunningCalls.Call running = calls.beginClose(place);
    FutureTask<Boolean> task = new FutureTask<>(running.of(closing), true);
    if (calls.isGivenUp(place, patience)) {
      running.giveUp(Optional.empty());
      daemon(task).start(); // takes no thread of calls: there are as many as open images
      return;
    }
    try {
      calls.threads().execute(task);
    } catch (RejectedExecutionException e) {
      daemon(task).start();
    }
    if (TaskWait.result(task, calls.slow(), running.failed()).isPresent()) {
      return;
    }
    if (calls.hasGivenUp(place)) {
      running.leave();
      LOG.info("image {} is closed when the call that its owner carries out ends", place);
    } else if (!awaitAside(task, running)) {
      LOG.warn("image {} is still being closed after {}", place, patience);
    }
  }

  /** Whether it ended; if not, it is given up. */
  private boolean await(FutureTask<Boolean> task, RunningCalls.Call running) {
    return TaskWait.result(task, calls.slow(), running.failed()).isPresent()
        || awaitAside(task, running);
  }

  private boolean awaitAside(FutureTask<Boolean> task, RunningCalls.Call running) {
    AtomicBoolean ended = new AtomicBoolean();
    longWaits.execute(() -> ended.set(awaitLong(task, running)));
    return ended.get();
  }

  private boolean awaitLong(FutureTask<Boolean> task, RunningCalls.Call running) {
    while (TaskWait.result(task, patience, running.failed()).isEmpty()) {
      Optional<String> other = otherOwner();
      boolean isHeard = running.wasHeardWithin(patience);
      if (!isHeard || other.isPresent()) {
        if (TaskWait.result(task, Duration.ZERO, running.failed()).isPresent()) {
          return true; // it ended while the owner was asked for
        }
        running.giveUp(isHeard ? Optional.empty() : other);
        return false;
      }
    }
    return true;
  }

  private void requireRoom(String operation, String object, RunningCalls.Call running) {
    RunningCalls.Room room = calls.roomFor(running, patience);
    if (room != RunningCalls.Room.FOR_ALL) {
      boolean isUnlessLocked = room == RunningCalls.Room.UNLESS_LOCKED;
      Optional<String> owner = owners.other(at -> isUnlessLocked || calls.isSilent(at));
      if (owner.isPresent()) {
        String what = place.isOfGroup() ? "an image of this group" : "this one";
        throw notBegun(operation, object, "; the client at " + owner.get() + " has " + what);
      }
    }
  }

  /** Whom a call waits for; a round trip. Of a group, nobody knows which of several. */
  private Optional<String> otherOwner() {
    return place.isOfGroup() ? Optional.empty() : owners.other(at -> true);
  }

  private String why(String otherwise) {
    return otherOwner()
        .map(
            address ->
                "the client at "
                    + address
                    + ", which has the exclusive lock of the image, does not answer")
        .orElse(otherwise);
  }

  private static CephException.OwnerSilent silent(String operation, String object, String why) {
    return new CephException.OwnerSilent(operation, object, -Errno.ETIMEDOUT.number(), why);
  }

  private CephException.OwnerSilent notBegun(String operation, String object, String whose) {
    return new CephException.OwnerSilent(
        operation,
        object,
        -Errno.ETIMEDOUT.number(),
        "too many calls wait for clients with locks" + whose,
        calls.hasGivenUp(place));
  }

  /** What calls are about: an image, or a group. */
  record Place(String fsid, long poolId, String namespace, String key) {
    boolean isSamePool(Place other) {
      return fsid.equals(other.fsid) && poolId == other.poolId && namespace.equals(other.namespace);
    }

    boolean isOfGroup() {
      return key.startsWith(OF_GROUP);
    }
  }
}
