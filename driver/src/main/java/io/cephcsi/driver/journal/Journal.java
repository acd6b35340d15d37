package io.cephcsi.driver.journal;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.driver.cluster.Reservations;
import io.cephcsi.driver.volume.VolumeException;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;

/**
 * The journal of one kind and instance: which request name has which uuid, and what belongs to a
 * uuid.
 *
 * <pre>
 *   journal pool: csi.volumes.&lt;instance&gt;   omap  csi.volume.&lt;request name&gt; → uuid
 *                                              or [16 hex digits of the image pool's id]/uuid
 *   image pool:   csi.volume.&lt;uuid&gt;        omap  csi.volname, csi.imagename, csi.imageid, ...
 * </pre>
 *
 * <p>A reservation sets the directory's key first, on the condition that it is absent, and then
 * makes the object: whatever dies in between, the next call of the same name finds the key and goes
 * on with its uuid, so no object is ever without a key that leads to it. Every step is one compound
 * operation, and keys are read by name: the size of the directory does not matter.
 *
 * <p>Safe for several threads, and for several processes: of two that reserve a name at once, both
 * get the same uuid.
 */
public final class Journal {
  private final JournalKind kind;
  private final IoContext imagePool;
  private final NameKeys directory;
  private final EntryObjects entries;
  private final Reservations reservations;

  /**
   * @param kind what is recorded
   * @param instanceId tells several drivers on one pool apart; {@code default} unless configured
   * @param journalPool the pool of the directory
   * @param imagePool the pool of the images, and of the object of each; may be the same
   */
  public Journal(JournalKind kind, String instanceId, IoContext journalPool, IoContext imagePool) {
    this(kind, instanceId, journalPool, imagePool, Reservations.FORGOTTEN);
  }

  /**
   * As {@link #Journal(JournalKind, String, IoContext, IoContext)}, for a journal that names are
   * reserved in.
   *
   * @param reservations undoes those that are carried out after they were given up
   */
  public Journal(
      JournalKind kind,
      String instanceId,
      IoContext journalPool,
      IoContext imagePool,
      Reservations reservations) {
    this.kind = kind;
    this.imagePool = imagePool;
    this.directory = new NameKeys(kind, instanceId, journalPool);
    this.entries = new EntryObjects(kind, journalPool, imagePool);
    this.reservations = reservations;
  }

  /**
   * The entry of a uuid; one round trip.
   *
   * @return empty when there is none, or none that is complete
   * @throws VolumeException FAILED_PRECONDITION saying what is wrong with an entry that is damaged
   */
  public Optional<JournalEntry> byUuid(UUID uuid) {
    return entries.find(uuid);
  }

  /**
   * The entry of a request name; two round trips.
   *
   * @return empty when the name is not reserved for an image in this pool, or its reservation was
   *     never completed
   */
  public Optional<JournalEntry> byName(String requestName) {
    return directoryValue(requestName)
        .filter(value -> value.poolId() == imagePool.poolId())
        .flatMap(value -> byUuid(value.uuid()))
        .map(entry -> Damage.requireName(entry, requestName));
  }

  /**
   * Reserves a name, or gives the entry that it has. A new name costs two round trips, a known one
   * three, or one if this process knew it lately.
   *
   * @param requestName the name that the caller gave
   * @param names makes the name on the cluster from the uuid
   * @param attributes further keys of a new entry
   * @return the entry; whether its image exists is for the caller to find out
   */
  public JournalEntry reserve(
      String requestName, ClusterNames names, Map<String, String> attributes) {
    return reserveOrFind(requestName, names, attributes).entry();
  }

  /** As {@link #reserve}, and says whether this call made the entry. */
  public Reservation reserveOrFind(
      String requestName, ClusterNames names, Map<String, String> attributes) {
    Optional<JournalEntry> recent = directory.recent(requestName).flatMap(u -> led(requestName, u));
    if (recent.isPresent()) {
      return new Reservation(recent.get(), false);
    }
    DirectoryValue mine = new DirectoryValue(UUID.randomUUID(), imagePool.poolId());
    String name = names.of(mine.uuid());
    Map<String, String> all = complete(requestName, name, attributes);
    Damage.requireWritable(kind, all);
    Reservation reservation =
        reservations
            .during(
                directory.late(requestName, mine, true, all),
                () ->
                    takeName(requestName, mine)
                        ? Optional.of(createObject(mine.uuid(), requestName, name, attributes))
                        : Optional.<JournalEntry>empty())
            .map(entry -> new Reservation(entry, true))
            .orElseGet(() -> new Reservation(reserved(requestName, names, attributes), false));
    directory.remember(requestName, reservation.entry().uuid());
    return reservation;
  }

  /**
   * The entry that a name led to lately, if it still does; one round trip. What is damaged is told
   * only of the entry that it leads to.
   */
  private Optional<JournalEntry> led(String requestName, UUID uuid) {
    Optional<DirectoryValue> same = Optional.of(new DirectoryValue(uuid, imagePool.poolId()));
    try (NameKeys.Pending name = directory.read(requestName)) {
      return byUuid(uuid)
          .filter(entry -> name.value().equals(same))
          .map(entry -> Damage.requireName(entry, requestName));
    } catch (VolumeException e) {
      return Optional.empty();
    }
  }

  /** Has a name lead to an entry; one round trip. False if it leads to one already. */
  boolean takeName(String requestName, DirectoryValue entry) {
    return directory.take(requestName, entry);
  }

  /**
   * Reserves a name for an attempt at making what it stands for, or finds what it has. What is not
   * complete is continued by this attempt, which replaces the former one. A new name costs two
   * round trips, a complete one three, one that is continued four.
   *
   * @param requestName the name that the caller gave
   * @param names makes the name on the cluster from the uuid
   * @param attributes further keys of a new entry
   * @return to be completed, unless its entry is made already, or being deleted
   * @throws VolumeException ABORTED if others begin attempts all the time
   */
  public Attempt begin(String requestName, ClusterNames names, Map<String, String> attributes) {
    return Attempt.begin(this, requestName, names, attributes);
  }

  /**
   * As {@link #begin}, of a name that is reserved: makes no entry. Where a process died before it
   * made one, the name becomes free.
   *
   * @return empty if the name has no entry in the image pool
   */
  public Optional<Attempt> resume(String requestName) {
    return Attempt.resume(this, requestName);
  }

  /** As {@link #byName}; a name that has no entry in the image pool is freed. */
  Optional<JournalEntry> findOrFree(String requestName) {
    Optional<DirectoryValue> value =
        directoryValue(requestName).filter(v -> v.poolId() == imagePool.poolId());
    Optional<JournalEntry> entry =
        value.flatMap(v -> byUuid(v.uuid())).map(e -> Damage.requireName(e, requestName));
    if (entry.isEmpty()) {
      value.ifPresent(v -> directory.free(requestName, v));
    }
    return entry;
  }

  /** The entry of a name whose directory key is set, completed if a process died in between. */
  private JournalEntry reserved(
      String requestName, ClusterNames names, Map<String, String> attributes) {
    DirectoryValue value =
        directoryValue(requestName)
            .orElseThrow(
                () -> EntryObjects.justDeleted("the name " + requestName, Optional.empty()));
    if (value.poolId() != imagePool.poolId()) {
      throw new PoolMismatchException(requestName, value.poolId());
    }
    return byUuid(value.uuid())
        .map(entry -> Damage.requireName(entry, requestName))
        .orElseGet(() -> createAgain(value, requestName, names, attributes));
  }

  /**
   * The object of a key that is there. It may be that of an entry that was just removed: then the
   * key, which is removed first, does not exist, and what was made of the uuid belongs to no entry.
   * What has the name already is not: the entry of something that was made was lost, or the key is
   * forged.
   */
  private JournalEntry createAgain(
      DirectoryValue value,
      String requestName,
      ClusterNames names,
      Map<String, String> attributes) {
    String wanted = names.of(value.uuid());
    if (names.isTaken(wanted)) {
      return byUuid(value.uuid()) // another process may have made both meanwhile
          .map(entry -> Damage.requireName(entry, requestName))
          .orElseThrow(
              () ->
                  directoryValue(requestName).equals(Optional.of(value))
                      ? Damage.lost(requestName, value.uuid(), wanted)
                      : EntryObjects.justDeleted("the name " + requestName, Optional.empty()));
    }
    JournalEntry entry =
        reservations.during(
            directory.late(requestName, value, false, complete(requestName, wanted, attributes)),
            () -> createObject(value.uuid(), requestName, wanted, attributes));
    if (!directoryValue(requestName).equals(Optional.of(value))) {
      String maker = attributes.get(JournalEntry.MAKER);
      if (maker != null) {
        entries.removeUnlessReplaced(value.uuid(), maker);
      }
      throw EntryObjects.justDeleted("the name " + requestName, Optional.empty());
    }
    return entry;
  }

  JournalEntry createObject(UUID uuid, String requestName, String name, Map<String, String> more) {
    return entries.create(uuid, requestName, name, more);
  }

  Map<String, String> complete(String requestName, String name, Map<String, String> more) {
    return entries.complete(requestName, name, more);
  }

  /** Whether there is an object of a uuid, though its entry may not be complete; one round trip. */
  public boolean isKnown(UUID uuid) {
    return isKnownIn(imagePool, uuid);
  }

  /** Whether the name of an entry leads to it; one round trip. */
  public boolean isReserved(JournalEntry entry) {
    return directoryValue(entry.requestName())
        .filter(value -> value.uuid().equals(entry.uuid()))
        .isPresent();
  }

  /** The pool of the image that a name stands for; one round trip, empty for no such name. */
  public OptionalLong imagePoolOf(String requestName) {
    return directoryValue(requestName).stream().mapToLong(DirectoryValue::poolId).findFirst();
  }

  Optional<DirectoryValue> directoryValue(String requestName) {
    return directory.find(requestName);
  }

  /** Records that the user deleted a snapshot that may have to stay; one round trip. */
  public void markDeleted(UUID uuid) {
    set(uuid, Map.of(JournalEntry.DELETED, "1"));
  }

  /** Adds or replaces keys of an entry; one round trip. */
  public void set(UUID uuid, Map<String, String> attributes) {
    try (WriteOperation write = new WriteOperation()) {
      write.assertExists().omapSet(EntryAttributes.bytes(attributes));
      imagePool.operate(kind.object(uuid), write);
    }
  }

  /** Records the id of an entry's RBD image; one round trip. */
  public void setImageId(UUID uuid, String imageId) {
    set(uuid, Map.of(JournalEntry.IMAGE_ID, imageId));
  }

  /**
   * Removes an entry whose image is gone; two round trips. The directory's key goes first: should
   * the process die in between, the retry, which knows the uuid, still finds the object.
   */
  public void remove(JournalEntry entry) {
    freeName(entry);
    entries.remove(entry.uuid());
  }

  /**
   * Frees the name of an entry that stays, such as that of a deleted snapshot which others still
   * need; one round trip.
   */
  public void freeName(JournalEntry entry) {
    directory.free(entry.requestName(), new DirectoryValue(entry.uuid(), imagePool.poolId()));
  }

  /**
   * Undoes a reservation; two round trips. The object goes first: should the process die in
   * between, the retry, which knows the name, still finds the key.
   */
  public void undo(JournalEntry entry) {
    entries.remove(entry.uuid());
    freeName(entry);
  }

  /**
   * Goes on with an entry that another call made: an undo by that one, which is slow or comes late,
   * removes nothing any more. One round trip.
   *
   * @param read the entry as it was read
   * @return the entry as it is now
   * @throws VolumeException ABORTED if it was changed or removed since
   */
  public JournalEntry takeOver(JournalEntry read) {
    return entries
        .renew(read)
        .orElseThrow(
            () -> EntryObjects.justDeleted("the name " + read.requestName(), Optional.empty()));
  }

  /**
   * Removes a key of an entry, and goes on with it as {@link #takeOver}. One round trip.
   *
   * @param read the entry as it was read
   * @throws VolumeException ABORTED if it was changed or removed since
   */
  public void removeKey(JournalEntry read, String key) {
    if (!entries.renewWithout(read, key)) {
      throw EntryObjects.justDeleted("the name " + read.requestName(), Optional.empty());
    }
  }

  /**
   * Undoes a reservation, unless another call has gone on with the entry or published it. The entry
   * is marked as being deleted first, then its name goes, and then the entry: whoever finds the
   * mark ends that, and takes another uuid. So a call that is stopped in between frees no name that
   * leads to another entry. Three round trips.
   *
   * @param read the entry as it was read
   */
  public void undoUnlessTakenOver(JournalEntry read) {
    undoUnlessTakenOver(read, () -> {});
  }

  /**
   * As {@link #undoUnlessTakenOver(JournalEntry)}.
   *
   * @param cleanUp removes what belongs to the entry, between the mark and the rest
   */
  public void undoUnlessTakenOver(JournalEntry read, Runnable cleanUp) {
    if (entries.markUnlessRenewed(read)) {
      cleanUp.run();
      remove(read);
    }
  }

  JournalKind kind() {
    return kind;
  }

  long imagePoolId() {
    return imagePool.poolId();
  }

  boolean isIn(IoContext pool) {
    return pool.poolId() == imagePool.poolId();
  }

  boolean isKnownIn(IoContext pool, UUID uuid) {
    return pool.exists(kind.object(uuid));
  }

  /** Writes to the object of an entry. */
  void write(UUID uuid, WriteOperation write) {
    imagePool.operate(kind.object(uuid), write);
  }

  /**
   * A name that is reserved.
   *
   * @param entry what it stands for
   * @param isNew whether it was reserved just now
   */
  public record Reservation(JournalEntry entry, boolean isNew) {}
}
