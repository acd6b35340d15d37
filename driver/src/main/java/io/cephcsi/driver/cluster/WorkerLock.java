package io.cephcsi.driver.cluster;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ObjectLock;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The lock of a piece of work that only one driver may do at a time, on an object. The cluster
 * drops the lock of a driver that died, and another driver may take it. A driver that was only
 * stopped may go on: its {@link WorkerMark} stays at the object until its work has ended, and the
 * next owner of the lock blocklists the client of each mark that it finds. Ends with {@link
 * #close}. Safe for several threads.
 *
 * <p>A call of the work that was given up ({@link CephException.OwnerSilent}) may go on in librbd
 * when this ends. What makes such calls is done by {@link #run} or {@link #call}: then the lock and
 * the mark stay as those of a driver that died. A call that was not begun is not under way, and no
 * reason for that.
 */
public final class WorkerLock implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(WorkerLock.class);
  private static final Duration HOLDS = Duration.ofSeconds(30);
  private static final int MOST_CAUSES = 20; // they may form a ring

  private final IoContext io;
  private final String object;
  private final String subject;
  private final RenewedLock lock;
  private final WorkerMark mark;
  private volatile boolean hasGivenUp;

  private WorkerLock(
      IoContext io, String object, String subject, RenewedLock lock, WorkerMark mark) {
    this.io = io;
    this.object = object;
    this.subject = subject;
    this.lock = lock;
    this.mark = mark;
  }

  /**
   * Takes the lock; two round trips, and some seconds if another driver died with it. That of a
   * process that was killed in this one's place is taken away, once it is blocklisted.
   *
   * @param io of the client that does the work, which is what others blocklist; stays open for as
   *     long as this
   * @param name the lock's; ceph-csi does not look at it
   * @param work what is done, for people who list the lock
   * @param subject what is worked on, for errors, such as {@code group snapshot ID}
   * @param create whether the object is made if there is none
   * @throws VolumeException ABORTED if another driver has it, or had it when it died just now;
   *     FAILED_PRECONDITION if the object has a mark that no driver with this user's key wrote
   * @throws io.cephcsi.bindings.error.CephException.Denied if another driver died with it, and the
   *     user may not blocklist it
   * @throws io.cephcsi.bindings.error.CephException.NotFound if there is no such object, and none
   *     is to be made
   */
  public static WorkerLock begin(
      IoContext io, String object, String name, String work, String subject, boolean create) {
    WorkerMark mark = new WorkerMark();
    try {
      WorkerLock lock =
          take(io, object, name, work, mark, create)
              .map(taken -> new WorkerLock(io, object, subject, taken, mark))
              .orElseThrow(() -> atWork(subject));
      try {
        lock.fenceOthers();
        return lock;
      } catch (RuntimeException e) {
        lock.close();
        throw e;
      }
    } catch (RuntimeException e) {
      mark.close();
      throw e;
    }
  }

  private static Optional<RenewedLock> take(
      IoContext io, String object, String name, String work, WorkerMark mark, boolean create) {
    byte[] value = mark.value(io, object);
    Supplier<Optional<ObjectLock>> attempt =
        () ->
            ObjectLock.tryAcquireMarked(io, object, name, work, HOLDS, mark.name(), value, create);
    return RenewedLock.take(HOLDS, attempt)
        .or(
            () ->
                ObjectLock.breakDead(io, object, name, ClientFence::isShutOut)
                    ? RenewedLock.take(HOLDS, attempt)
                    : Optional.empty());
  }

  private static VolumeException atWork(String subject) {
    return new VolumeException(
        Reason.ABORTED,
        "another driver works on "
            + subject
            + ", or ended without releasing its lock less than "
            + HOLDS.toSeconds()
            + " s ago; try again");
  }

  /** Has the cluster refuse what those still do who had the lock before and did not end. */
  private void fenceOthers() {
    Map<String, byte[]> others = workers(io, object);
    others.remove(mark.name());
    if (others.isEmpty()) {
      return;
    }
    others.forEach(this::fence);
    try (WriteOperation write = new WriteOperation()) {
      write.assertExists();
      others.keySet().forEach(write::removeXattr);
      io.operate(object, write);
    }
  }

  private void fence(String worker, byte[] value) {
    String address =
        WorkerMark.address(io, object, worker, value).orElseThrow(() -> unproven(worker));
    if (WorkerMark.isAtWork(worker)) {
      throw atWork(subject); // in this process, which has not seen yet that its lock is lost
    }
    if (WorkerMark.hasEnded(worker)
        || address.equals(io.cluster().addresses())
        || ClientFence.isShutOut(address)) {
      return; // a call of this process that ended and could not say so
    }
    LOG.warn("the driver at {} stopped during its work on {}: blocklisting it", address, subject);
    new ClientFence(io.cluster()).blocklist(address, ClientFence.LONGER_THAN_STOPPED);
  }

  private VolumeException unproven(String worker) {
    return new VolumeException(
        Reason.FAILED_PRECONDITION,
        subject
            + ": attribute "
            + worker
            + " of object "
            + object
            + " names a driver that works on it, but is not signed with the key of this"
            + " user; if no driver works on it, remove the attribute with \"rados"
            + " rmxattr\"");
  }

  /**
   * Whether a driver works on an object, or ended without saying so: then it may go on, until
   * somebody takes the lock. One round trip.
   *
   * @throws io.cephcsi.bindings.error.CephException.NotFound if there is no such object
   */
  public static boolean isMarked(IoContext io, String object) {
    return !workers(io, object).isEmpty();
  }

  private static Map<String, byte[]> workers(IoContext io, String object) {
    try (ReadOperation read = new ReadOperation()) {
      var attributes = read.getXattrs();
      io.operate(object, read);
      Map<String, byte[]> workers = new TreeMap<>(attributes.get());
      workers.keySet().removeIf(name -> !WorkerMark.isName(name));
      return workers;
    }
  }

  /**
   * Ends the work if another driver may have the lock, before the cluster refuses it; does not
   * block. Called before each step.
   *
   * @throws VolumeException ABORTED if another driver may have it
   */
  public void require() {
    if (lock.isLost()) {
      throw new VolumeException(
          Reason.ABORTED, "the lock of " + subject + " could not be renewed in time; try again");
    }
  }

  /**
   * Does a part of the work; blocks for as long as that. If a call of it is given up, {@link
   * #close} leaves lock and mark at the object: the cluster drops the lock after half a minute, and
   * then a driver in another process blocklists this client before it goes on. One in this process
   * goes on without, as calls on what the other call is about fail until that returns.
   *
   * @throws RuntimeException what the work throws
   */
  public <T> T call(Supplier<T> work) {
    try {
      return work.get();
    } catch (RuntimeException e) {
      if (isGivenUp(e)) {
        hasGivenUp = true;
      }
      throw e;
    }
  }

  /** As {@link #call}, of what has no result. */
  public void run(Runnable work) {
    call(
        () -> {
          work.run();
          return true;
        });
  }

  private static boolean isGivenUp(RuntimeException failure) {
    Throwable cause = failure;
    for (int depth = 0; cause != null && depth < MOST_CAUSES; depth++) {
      if (cause instanceof CephException.OwnerSilent silent && silent.isUnderWay()) {
        return true;
      }
      cause = cause.getCause();
    }
    return false;
  }

  /** Ends the work, and waits for no call that was given up; see {@link #call}. */
  @Override
  public void close() {
    if (hasGivenUp) {
      LOG.warn(
          "a call on {} was given up and may be carried out later: attribute {} of object {} stays",
          subject,
          mark.name(),
          object);
      lock.abandon();
    } else {
      lock.close();
    }
    mark.close();
  }
}
