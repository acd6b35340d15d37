package io.cephcsi.driver.rbd.group;

import io.cephcsi.driver.cluster.WorkerLock;
import io.cephcsi.driver.journal.GroupEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.volume.VolumeException;
import java.util.Optional;
import java.util.function.Supplier;

/** The {@link WorkerLock} of a group snapshot, on the object of its journal entry. */
final class GroupSnapshotLock implements AutoCloseable {
  /** The lock's name. */
  static final String LOCK = "csi.java.work";

  private final OpenGroup group;
  private final WorkerLock work;

  private GroupSnapshotLock(OpenGroup group, WorkerLock work) {
    this.group = group;
    this.work = work;
  }

  /**
   * Takes the lock.
   *
   * @param group the group's snapshot
   * @param kind what is done, for people who list the lock
   * @throws VolumeException as of {@link WorkerLock#begin}
   * @throws io.cephcsi.bindings.error.CephException.Denied as of {@link WorkerLock#begin}
   */
  static GroupSnapshotLock begin(OpenGroup group, String kind) {
    String object = JournalKind.GROUP.object(group.id().uuid());
    return new GroupSnapshotLock(
        group,
        WorkerLock.begin(
            group.pool().io(), object, LOCK, kind, "group snapshot " + group.id(), true));
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

  /** As {@link WorkerLock#require}. */
  void require() {
    work.require();
  }

  /** As {@link WorkerLock#call}. */
  <T> T call(Supplier<T> part) {
    return work.call(part);
  }

  /** As {@link WorkerLock#run}. */
  void run(Runnable part) {
    work.run(part);
  }

  @Override
  public void close() {
    work.close();
  }
}
