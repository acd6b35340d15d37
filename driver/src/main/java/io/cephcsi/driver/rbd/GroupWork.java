package io.cephcsi.driver.rbd;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.rados.ObjectLock;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.driver.cluster.RenewedLock;
import io.cephcsi.driver.journal.GroupEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.UUID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The right to work on a snapshot of a group, which one driver at a time has: a lock on the entry's
 * object in the journal. The cluster drops that of a driver that died, so whoever gets it may take
 * over. The driver before may only have been stopped, and go on: its address stays at the entry
 * until its work has ended, and who finds it there blocklists it, so that nothing that it still
 * does arrives. Ends with {@link #close}.
 */
final class GroupWork implements AutoCloseable {
  /** The lock's name; ceph-csi does not look at it. */
  static final String LOCK = "csi.java.work";

  /** Begins the names of the attributes with the addresses of those at work. */
  static final String WORKER = "csi.java.worker.";

  private static final Logger LOG = LoggerFactory.getLogger(GroupWork.class);
  private static final Duration HOLDS = Duration.ofSeconds(30);

  /** Longer than anything stays stopped and then goes on. */
  private static final Duration FENCED = Duration.ofDays(30);

  private final OpenGroup group;
  private final RenewedLock lock;

  private GroupWork(OpenGroup group, RenewedLock lock) {
    this.group = group;
    this.lock = lock;
  }

  /**
   * Takes the right; two round trips, and some seconds when another driver died over it.
   *
   * @param group the group's snapshot
   * @param kind what is done, for people who list the lock
   * @throws VolumeException ABORTED if another driver has it, or had it when it died just now
   * @throws io.cephcsi.bindings.error.CephException.Denied if another driver died over it, and the
   *     user may not blocklist it
   */
  static GroupWork begin(OpenGroup group, String kind) {
    String worker = WORKER + UUID.randomUUID();
    String address = group.lease().cluster().addresses();
    GroupWork work =
        RenewedLock.take(
                HOLDS,
                () ->
                    ObjectLock.tryAcquireMarked(
                        group.pool().io(),
                        object(group),
                        LOCK,
                        worker,
                        kind,
                        HOLDS,
                        worker,
                        address.getBytes(UTF_8)))
            .map(lock -> new GroupWork(group, lock))
            .orElseThrow(() -> atWork(group));
    try {
      work.fenceOthers(worker, address);
      return work;
    } catch (RuntimeException e) {
      work.close();
      throw e;
    }
  }

  private static String object(OpenGroup group) {
    return JournalKind.GROUP.object(group.id().uuid());
  }

  private static VolumeException atWork(OpenGroup group) {
    return new VolumeException(
        Reason.ABORTED,
        "another driver works on group snapshot "
            + group.id()
            + ", or died over it less than "
            + HOLDS.toSeconds()
            + " s ago; try again");
  }

  /** Has the cluster refuse what those still do who had the lock before and did not end. */
  private void fenceOthers(String mine, String myAddress) {
    Map<String, byte[]> others = workers();
    others.remove(mine);
    if (others.isEmpty()) {
      return;
    }
    for (byte[] worker : others.values()) {
      String address = new String(worker, UTF_8);
      if (address.equals(myAddress)) {
        continue; // a call of this driver that ended and could not say so
      }
      LOG.warn(
          "the driver at {} did not end its work on group snapshot {}: blocklisting it",
          address,
          group.id());
      group.lease().cluster().blocklist(address, FENCED);
    }
    try (WriteOperation write = new WriteOperation()) {
      write.assertExists();
      others.keySet().forEach(write::removeXattr);
      group.pool().io().operate(object(group), write);
    }
  }

  private Map<String, byte[]> workers() {
    try (ReadOperation read = new ReadOperation()) {
      var attributes = read.getXattrs();
      group.pool().io().operate(object(group), read);
      Map<String, byte[]> workers = new TreeMap<>(attributes.get());
      workers.keySet().removeIf(name -> !name.startsWith(WORKER));
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
   * Ends work that somebody else may have taken over, before the cluster refuses it; does not
   * block. Called before each step.
   *
   * @throws VolumeException ABORTED if somebody can have
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
  }
}
