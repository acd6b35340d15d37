package io.cephcsi.driver.cephfs;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.volume.VolumeId;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Consumer;

/**
 * Which attempt takes a group's snapshot, and whether one has taken it: extended attributes of the
 * entry's object in the journal, as ceph-csi takes its omap's keys for volumes.
 *
 * <pre>
 *   csi.java.attempt → the id of the quiesce set of the attempt that began last; behind "ending "
 *                      while the entry is removed with it
 *   csi.java.taken   → that of the attempt that took the snapshots, which are complete then
 * </pre>
 *
 * <p>An attempt is counted as done only if no other has begun meanwhile. Safe for several threads
 * and processes.
 *
 * @param io the pool of the journal
 * @param group the uuid of the entry
 */
record SnapshotAttempts(IoContext io, UUID group) {
  private static final String ATTEMPT = "csi.java.attempt";
  private static final String TAKEN = "csi.java.taken";
  private static final String ENDING = "ending ";
  private static final byte[] ABSENT = {};

  /**
   * What is recorded.
   *
   * @param attempt the attempt that began last; empty for none
   * @param taken whether the snapshots were taken
   */
  record State(String attempt, boolean taken) {
    /**
     * Whether the entry is being removed: no attempt can begin any more, but any call can complete
     * the removal.
     */
    boolean isEnding() {
      return attempt.startsWith(ENDING);
    }
  }

  private String object() {
    return JournalKind.GROUP.object(group);
  }

  /** What is recorded; one round trip, empty if the entry is gone. */
  Optional<State> read() {
    try (ReadOperation read = new ReadOperation().assertExists()) {
      var values = read.getXattrs();
      io.operate(object(), read);
      Map<String, byte[]> found = values.get();
      return Optional.of(
          new State(
              new String(found.getOrDefault(ATTEMPT, new byte[0]), UTF_8),
              found.containsKey(TAKEN)));
    } catch (CephException.NotFound e) {
      return Optional.empty();
    }
  }

  /**
   * Begins an attempt: the one before cannot be counted from now on. One round trip.
   *
   * @param before what was read
   * @return false if another one has begun or ended since, or the entry is gone
   */
  boolean begin(State before, String attempt) {
    return write(
        before.attempt(),
        write -> {
          if (!before.taken()) {
            write.compareXattr(TAKEN, ABSENT);
          }
          write.setXattr(ATTEMPT, attempt.getBytes(UTF_8));
        });
  }

  /** Carries steps out if an attempt is still the last. */
  private boolean write(String attempt, Consumer<WriteOperation> steps) {
    try (WriteOperation write = new WriteOperation()) {
      write.assertExists().compareXattr(ATTEMPT, attempt.getBytes(UTF_8));
      steps.accept(write);
      io.operate(object(), write);
      return true;
    } catch (CephException.Canceled | CephException.NotFound e) {
      return false;
    }
  }

  /**
   * Records the snapshots that an attempt is going to take; one round trip.
   *
   * @param values their ids, by those of the volumes
   * @return false if another one has begun since, or the entry is gone
   */
  boolean record(String attempt, Map<VolumeId, String> values) {
    return write(
        attempt,
        write ->
            values.forEach((id, value) -> write.omapSet(id.toString(), value.getBytes(UTF_8))));
  }

  /**
   * Marks the entry as being removed; one round trip.
   *
   * @return the mark, which the last attempt is from now on; empty if another one has begun since,
   *     or the entry is gone
   */
  Optional<String> end(String attempt) {
    String mark = ENDING + attempt;
    return write(attempt, write -> write.setXattr(ATTEMPT, mark.getBytes(UTF_8)))
        ? Optional.of(mark)
        : Optional.empty();
  }

  /**
   * Removes the object of the entry; one round trip.
   *
   * @param mark that it is being removed, which excludes an object that was made anew
   * @return false if it is gone
   */
  boolean remove(String mark) {
    return write(mark, WriteOperation::remove);
  }

  /** Whether an attempt is still the last; one round trip. */
  boolean isLast(String attempt) {
    return read().filter(state -> state.attempt().equals(attempt)).isPresent();
  }

  /**
   * Records that an attempt took the snapshots; one round trip.
   *
   * @return false if another one has begun since, or the entry is gone
   */
  boolean complete(String attempt) {
    return write(attempt, write -> write.setXattr(TAKEN, attempt.getBytes(UTF_8)));
  }
}
