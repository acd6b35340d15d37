package io.cephcsi.driver.rbd.group;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ObjectLock;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.driver.cluster.ClientFence;
import io.cephcsi.driver.cluster.RenewedLock;
import io.cephcsi.driver.cluster.WorkerMark;
import io.cephcsi.driver.journal.GroupEntry;
import io.cephcsi.driver.journal.JournalKind;
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
 * The lock of a group snapshot, on the object of its journal entry. The cluster drops the lock of a
 * driver that died, and another driver may take it. A driver that was only stopped may go on: its
 * {@link WorkerMark} stays at the entry until its work has ended, and the next owner of the lock
 * blocklists the client of each mark that it finds. Ends with {@link #close}.
 */
final class GroupSnapshotLock implements AutoCloseable {
  /** The lock's name; ceph-csi does not look at it. */
  static final String LOCK = "csi.java.work";

  private static final Logger LOG = LoggerFactory.getLogger(GroupSnapshotLock.class);
  private static final Duration HOLDS = Duration.ofSeconds(30);

  /** Longer than anything stays stopped and then goes on. */
  private static final Duration FENCED = Duration.ofDays(30);

  private final OpenGroup group;
  private final RenewedLock lock;
  private final WorkerMark mark;

  private GroupSnapshotLock(OpenGroup group, RenewedLock lock, WorkerMark mark) {
    this.group = group;
    this.lock = lock;
    this.mark = mark;
  }

  /**
   * Takes the lock; two round trips, and some seconds if another driver died with it. That of a
   * process that was killed in this one's place is taken away, once it is blocklisted.
   *
   * @param group the group's snapshot
   * @param kind what is done, for people who list the lock
   * @throws VolumeException ABORTED if another driver has it, or had it when it died just now;
   *     FAILED_PRECONDITION if the object has a mark that no driver with this user's key wrote
   * @throws io.cephcsi.bindings.error.CephException.Denied if another driver died with it, and the
   *     user may not blocklist it
   */
  static GroupSnapshotLock begin(OpenGroup group, String kind) {
    WorkerMark mark = new WorkerMark();
    try {
      GroupSnapshotLock work = take(group, kind, mark);
      try {
        work.fenceOthers();
        return work;
      } catch (RuntimeException e) {
        work.close();
        throw e;
      }
    } catch (RuntimeException e) {
      mark.close();
      throw e;
    }
  }

  private static GroupSnapshotLock take(OpenGroup group, String kind, WorkerMark mark) {
    IoContext io = group.pool().io();
    byte[] value = mark.value(io, object(group));
    Supplier<Optional<ObjectLock>> attempt =
        () ->
            ObjectLock.tryAcquireMarked(
                io, object(group), LOCK, mark.name(), kind, HOLDS, mark.name(), value);
    return RenewedLock.take(HOLDS, attempt)
        .or(
            () ->
                ObjectLock.breakDead(io, object(group), LOCK, ClientFence::isShutOut)
                    ? RenewedLock.take(HOLDS, attempt)
                    : Optional.empty())
        .map(lock -> new GroupSnapshotLock(group, lock, mark))
        .orElseThrow(() -> atWork(group));
  }

  private static String object(OpenGroup group) {
    return JournalKind.GROUP.object(group.id().uuid());
  }

  private static VolumeException atWork(OpenGroup group) {
    return new VolumeException(
        Reason.ABORTED,
        "another driver works on group snapshot "
            + group.id()
            + ", or ended without releasing its lock less than "
            + HOLDS.toSeconds()
            + " s ago; try again");
  }

  /** Has the cluster refuse what those still do who had the lock before and did not end. */
  private void fenceOthers() {
    Map<String, byte[]> others = workers();
    others.remove(mark.name());
    if (others.isEmpty()) {
      return;
    }
    others.forEach(this::fence);
    try (WriteOperation write = new WriteOperation()) {
      write.assertExists();
      others.keySet().forEach(write::removeXattr);
      group.pool().io().operate(object(group), write);
    }
  }

  private void fence(String worker, byte[] value) {
    IoContext io = group.pool().io();
    String address =
        WorkerMark.address(io, object(group), worker, value).orElseThrow(() -> unproven(worker));
    if (WorkerMark.isAtWork(worker)) {
      throw atWork(group); // in this process, which has not seen yet that its lock is lost
    }
    if (address.equals(io.cluster().addresses())) {
      return; // a call of this process that ended and could not say so
    }
    LOG.warn(
        "the driver at {} stopped during its work on group snapshot {}: blocklisting it",
        address,
        group.id());
    new ClientFence(io.cluster()).blocklist(address, FENCED);
  }

  private VolumeException unproven(String worker) {
    return new VolumeException(
        Reason.FAILED_PRECONDITION,
        "group snapshot "
            + group.id()
            + ": attribute "
            + worker
            + " of object "
            + object(group)
            + " names a driver that works on it, but is not signed with the key of this"
            + " user; if no driver works on it, remove the attribute with \"rados"
            + " rmxattr\"");
  }

  private Map<String, byte[]> workers() {
    try (ReadOperation read = new ReadOperation()) {
      var attributes = read.getXattrs();
      group.pool().io().operate(object(group), read);
      Map<String, byte[]> workers = new TreeMap<>(attributes.get());
      workers.keySet().removeIf(name -> !WorkerMark.isName(name));
      return workers;
    }
  }

  /**
   * The group's snapshot as the journal has it now; one round trip.
   *
   * @return empty if it was deleted meanwhile
   */
  Optional<OpenGroup> current() {
    Optional<GroupEntry> entry = group.journal().byUuid(group.id().uuid());
    if (entry.isEmpty()) {
      group.journal().removeEmpty(group.id().uuid()); // the lock may have made the object anew
    }
    return entry.map(group::with);
  }

  /**
   * Ends the work if another driver may have the lock, before the cluster refuses it; does not
   * block. Called before each step.
   *
   * @throws VolumeException ABORTED if another driver may have it
   */
  void require() {
    if (lock.isLost()) {
      throw new VolumeException(
          Reason.ABORTED,
          "the lock of group snapshot " + group.id() + " could not be renewed in time; try again");
    }
  }

  @Override
  public void close() {
    lock.close();
    mark.close();
  }
}
