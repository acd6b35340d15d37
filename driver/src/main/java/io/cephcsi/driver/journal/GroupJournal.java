package io.cephcsi.driver.journal;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.StaleVersionException;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.driver.cluster.Reservations;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeId;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;

/**
 * The journal of volume groups: beside the keys that every entry has, the object of a group has one
 * key for each member, so that one write changes them all.
 *
 * <pre>
 *   csi.volume.group.&lt;uuid&gt;   csi.volname · csi.groupname · csi.creationtime
 *                             &lt;volume id&gt;   → ""                     in a volume group
 *                             &lt;snapshot id&gt; → name of the snapshot   in a snapshot of a group
 *                             &lt;volume id&gt;   → &lt;snapshot id&gt;    the same of a file system
 * </pre>
 *
 * <p>ceph-csi takes every other key for the id of a member: none of our own may be among them.
 * Changes are guarded by the version of the object instead, and marks are extended attributes. An
 * entry whose creation failed and is being undone has {@code csi.java.undone}: whoever finds that
 * ends the undoing, and takes another uuid. One whose group is being deleted has {@code
 * csi.java.deleting}: nobody changes its members.
 *
 * <p>A mark counts until the object is written again, be it by ceph-csi, which knows no marks: its
 * value is the time of change, in seconds, that the write of the mark gives the object, and every
 * other write gives it another one. An empty group that ceph-csi completes is not written.
 *
 * <p>Safe for several threads and processes; all methods block on the cluster.
 */
public final class GroupJournal {
  private static final byte[] NO_VALUE = {};
  private static final String UNDONE = "csi.java.undone";
  private static final String DELETING = "csi.java.deleting";

  /** A mark's time of change is so far ahead, and up to twice: no clock is that wrong. */
  private static final Duration AHEAD = Duration.ofHours(1);

  private final Journal journal;
  private final IoContext pool;

  /**
   * @param instanceId tells several drivers on one pool apart
   * @param journalPool the pool of the directory
   * @param pool the pool of the groups, and of the object of each
   * @param reservations undoes those that are carried out after they were given up
   */
  public GroupJournal(
      String instanceId, IoContext journalPool, IoContext pool, Reservations reservations) {
    this.journal = new Journal(JournalKind.GROUP, instanceId, journalPool, pool, reservations);
    this.pool = pool;
  }

  /** The entry of a uuid; one round trip, empty when there is none that is complete. */
  public Optional<GroupEntry> byUuid(UUID uuid) {
    return journal.byUuid(uuid).map(GroupEntry::new);
  }

  /** The entry of a request name; two round trips, empty as of {@link Journal#byName}. */
  public Optional<GroupEntry> byName(String requestName) {
    return journal.byName(requestName).map(GroupEntry::new);
  }

  /**
   * Reserves a name, or gives the entry that it has, as {@link Journal#reserve}.
   *
   * @param values the members of a new entry, each with its value
   */
  public Journal.Reservation reserve(
      String requestName, ClusterNames names, Map<VolumeId, String> values) {
    return journal.reserveOrFind(requestName, names, GroupEntry.attributes(Instant.now(), values));
  }

  /**
   * The version of an entry's object, to be read before what a change is decided on; one round
   * trip.
   *
   * @throws CephException.NotFound if there is none
   */
  public long version(UUID uuid) {
    return state(uuid).version();
  }

  /** As {@link #version}, and the marks that count; one round trip. */
  public State state(UUID uuid) {
    try (ReadOperation read = new ReadOperation()) {
      var attributes = read.assertExists().getXattrs();
      var stat = read.stat();
      long version = pool.operateVersioned(JournalKind.GROUP.object(uuid), read);
      Instant changed = stat.get().modified();
      byte[] now = value(changed);
      return new State(
          version,
          changed.getEpochSecond(),
          Arrays.equals(attributes.get().get(UNDONE), now),
          Arrays.equals(attributes.get().get(DELETING), now));
    }
  }

  private static byte[] value(Instant modified) {
    return Long.toString(modified.getEpochSecond()).getBytes(UTF_8);
  }

  /**
   * The object of an entry.
   *
   * @param version changes with every write
   * @param changed its time of change, in seconds since 1970; with a mark, what that was given
   * @param isUndone whether the call that made the entry failed and is undoing it, or died at that:
   *     nobody has got it, and nobody goes on with it
   * @param isBeingDeleted whether a call deletes the group, or died at that
   */
  public record State(long version, long changed, boolean isUndone, boolean isBeingDeleted) {}

  /**
   * Marks an entry as one that is being undone; two round trips.
   *
   * @param version of its object, before this call worked on it
   * @return the version of the object after that; empty, and nothing was changed, when another
   *     process has changed the entry since
   */
  public OptionalLong markUndone(JournalEntry entry, long version) {
    return mark(UNDONE, entry, version);
  }

  /**
   * Marks an entry as that of a group that is being deleted; two round trips.
   *
   * @param version of its object, before what the deletion was decided on was read
   * @return as of {@link #markUndone}
   */
  public OptionalLong markDeleting(JournalEntry entry, long version) {
    return mark(DELETING, entry, version);
  }

  private OptionalLong mark(String name, JournalEntry entry, long version) {
    long ahead = AHEAD.toSeconds();
    Instant time =
        Instant.now().plusSeconds(ThreadLocalRandom.current().nextLong(ahead, 2 * ahead));
    try (WriteOperation write = new WriteOperation()) {
      write.assertVersion(version).setXattr(name, value(time)).modifiedAt(time);
      pool.operate(JournalKind.GROUP.object(entry.uuid()), write);
      State marked = state(entry.uuid());
      boolean counts = name.equals(UNDONE) ? marked.isUndone() : marked.isBeingDeleted();
      boolean own = marked.changed() == time.getEpochSecond(); // not another driver's since
      return counts && own ? OptionalLong.of(marked.version()) : OptionalLong.empty();
    } catch (StaleVersionException | CephException.NotFound e) {
      return OptionalLong.empty();
    }
  }

  /**
   * Takes the mark of {@link #markDeleting} back, unless the entry was changed since; one round
   * trip.
   *
   * @param version of its object with the mark
   */
  public void unmarkDeleting(JournalEntry entry, long version) {
    try (WriteOperation write = new WriteOperation()) {
      write.assertVersion(version).removeXattr(DELETING);
      pool.operate(JournalKind.GROUP.object(entry.uuid()), write);
    } catch (StaleVersionException | CephException.NotFound e) {
      return; // another driver deletes it as well, or it is deleted
    }
  }

  /**
   * Makes these the members of a volume group; one round trip, one write for all.
   *
   * @param read the entry as it was read
   * @param version of its object before that
   * @return false, and nothing was changed, when another process has changed the entry since
   */
  public boolean replaceMembers(GroupEntry read, long version, Collection<VolumeId> members) {
    List<String> gone = new ArrayList<>();
    for (VolumeId member : read.members()) {
      if (!members.contains(member)) {
        gone.add(member.toString());
      }
    }
    try (WriteOperation write = new WriteOperation()) {
      write.assertVersion(version);
      for (VolumeId member : members) {
        write.omapSet(member.toString(), NO_VALUE);
      }
      if (!gone.isEmpty()) {
        write.omapRemove(gone);
      }
      pool.operate(JournalKind.GROUP.object(read.journal().uuid()), write);
      return true;
    } catch (StaleVersionException | CephException.NotFound e) {
      return false;
    }
  }

  /**
   * Adds members with their values to an entry; one round trip.
   *
   * @throws CephException.NotFound if the entry was removed meanwhile
   */
  public void add(UUID uuid, Map<VolumeId, String> values) {
    try (WriteOperation write = new WriteOperation()) {
      write.assertExists();
      values.forEach((id, value) -> write.omapSet(id.toString(), value.getBytes(UTF_8)));
      pool.operate(JournalKind.GROUP.object(uuid), write);
    }
  }

  /**
   * Refuses to delete a snapshot alone that was taken together with others: it goes with them. One
   * round trip, for such a snapshot only.
   *
   * @throws VolumeException INVALID_ARGUMENT naming the group's snapshot
   */
  public void requireAlone(VolumeId id, JournalEntry snapshot) {
    snapshot
        .groupId()
        .filter(
            group ->
                VolumeId.parse(group)
                    .flatMap(parsed -> byUuid(parsed.uuid()))
                    .filter(entry -> entry.snapshots().contains(id))
                    .isPresent())
        .ifPresent(
            group -> {
              throw VolumeException.invalid(
                  "snapshot "
                      + id
                      + " is part of group snapshot "
                      + group
                      + ": delete the group snapshot");
            });
  }

  /** Removes an entry whose group is gone; see {@link Journal#remove}. */
  public void remove(JournalEntry entry) {
    journal.remove(entry);
  }

  /** Frees the name of an entry; see {@link Journal#freeName}. */
  public void freeName(JournalEntry entry) {
    journal.freeName(entry);
  }

  /** Removes the object of an entry that is gone already, should it have been made anew. */
  public void removeEmpty(UUID uuid) {
    try (WriteOperation write = new WriteOperation()) {
      write.assertExists().omapCompare(JournalKind.GROUP.requestNameKey(), NO_VALUE).remove();
      pool.operate(JournalKind.GROUP.object(uuid), write);
    } catch (CephException.NotFound | CephException.Canceled e) {
      // it is gone, or somebody uses it
    }
  }

  /**
   * Undoes a reservation, unless its object was changed since.
   *
   * @param version of the object
   */
  public void undo(JournalEntry entry, long version) {
    try (WriteOperation write = new WriteOperation()) {
      write.assertVersion(version);
      pool.operate(JournalKind.GROUP.object(entry.uuid()), write.remove());
    } catch (StaleVersionException | CephException.NotFound e) {
      return; // it belongs to another driver's call by now
    }
    journal.freeName(entry);
  }

  /** Undoes a reservation; see {@link Journal#undo}. */
  public void undo(JournalEntry entry) {
    journal.undo(entry);
  }
}
