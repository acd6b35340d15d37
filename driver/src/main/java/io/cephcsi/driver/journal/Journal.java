package io.cephcsi.driver.journal;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

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
  private static final Logger LOG = LoggerFactory.getLogger(Journal.class);
  private static final byte[] ABSENT = {};
  private static final HexFormat HEX = HexFormat.of();

  private final JournalKind kind;
  private final IoContext journalPool;
  private final IoContext imagePool;
  private final String directory;

  /**
   * @param kind what is recorded
   * @param instanceId tells several drivers on one pool apart; {@code default} unless configured
   * @param journalPool the pool of the directory
   * @param imagePool the pool of the images, and of the object of each; may be the same
   */
  public Journal(JournalKind kind, String instanceId, IoContext journalPool, IoContext imagePool) {
    this.kind = kind;
    this.journalPool = journalPool;
    this.imagePool = imagePool;
    this.directory = kind.directory(instanceId);
  }

  /**
   * The entry of a uuid; one round trip.
   *
   * @return empty when there is none, or none that is complete
   * @throws VolumeException FAILED_PRECONDITION saying what is wrong with an entry that is damaged
   */
  public Optional<JournalEntry> byUuid(UUID uuid) {
    Map<String, String> attributes;
    try {
      attributes = EntryAttributes.read(imagePool, kind.object(uuid));
    } catch (CephException.NotFound e) {
      return Optional.empty();
    }
    Damage.requireNone(kind, uuid, attributes);
    String requestName = attributes.get(kind.requestNameKey());
    String name = attributes.get(kind.nameKey());
    if (requestName == null || name == null) {
      return Optional.empty();
    }
    return Optional.of(new JournalEntry(uuid, requestName, name, attributes));
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
   * three.
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
    DirectoryValue mine = new DirectoryValue(UUID.randomUUID(), imagePool.poolId());
    String name = names.of(mine.uuid());
    Damage.requireWritable(kind, complete(requestName, name, attributes));
    return takeName(requestName, mine)
        ? new Reservation(createObject(mine.uuid(), requestName, name, attributes), true)
        : new Reservation(reserved(requestName, names, attributes), false);
  }

  /** Has a name lead to an entry; one round trip. False if it leads to one already. */
  boolean takeName(String requestName, DirectoryValue entry) {
    String key = kind.directoryKey(requestName);
    try (WriteOperation write = new WriteOperation()) {
      write.create().omapCompare(key, ABSENT);
      write.omapSet(key, entry.encode(journalPool.poolId()));
      journalPool.operate(directory, write);
      return true;
    } catch (CephException.Canceled e) {
      return false;
    }
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
      value.ifPresent(v -> removeDirectoryKey(requestName, v));
    }
    return entry;
  }

  /** The entry of a name whose directory key is set, completed if a process died in between. */
  private JournalEntry reserved(
      String requestName, ClusterNames names, Map<String, String> attributes) {
    DirectoryValue value =
        directoryValue(requestName)
            .orElseThrow(() -> justDeleted("the name " + requestName, Optional.empty()));
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
                      : justDeleted("the name " + requestName, Optional.empty()));
    }
    JournalEntry entry = createObject(value.uuid(), requestName, wanted, attributes);
    if (!directoryValue(requestName).equals(Optional.of(value))) {
      String maker = attributes.get(JournalEntry.MAKER);
      if (maker != null) {
        removeUnlessReplaced(value.uuid(), maker);
      }
      throw justDeleted("the name " + requestName, Optional.empty());
    }
    return entry;
  }

  private void removeUnlessReplaced(UUID uuid, String maker) {
    try (WriteOperation write = new WriteOperation()) {
      write.assertExists().omapCompare(JournalEntry.MAKER, maker.getBytes(UTF_8)).remove();
      imagePool.operate(kind.object(uuid), write);
    } catch (CephException.NotFound | CephException.Canceled e) {
      LOG.debug("entry {} is gone, or another attempt's", uuid);
    }
  }

  JournalEntry createObject(UUID uuid, String requestName, String name, Map<String, String> more) {
    Map<String, String> attributes = complete(requestName, name, more);
    try (WriteOperation write = new WriteOperation()) {
      // Not exclusively: another process may be completing the same reservation with the same
      // values, or an object without them was left by one that died.
      write
          .create()
          .omapCompare(kind.requestNameKey(), ABSENT)
          .omapSet(EntryAttributes.bytes(attributes));
      imagePool.operate(kind.object(uuid), write);
      return new JournalEntry(uuid, requestName, name, attributes);
    } catch (CephException.Canceled e) {
      return byUuid(uuid)
          .map(entry -> Damage.requireName(entry, requestName))
          .orElseGet(() -> completeObject(uuid, requestName, name, attributes));
    }
  }

  Map<String, String> complete(String requestName, String name, Map<String, String> more) {
    Map<String, String> attributes = new LinkedHashMap<>(more);
    attributes.put(kind.requestNameKey(), requestName);
    attributes.put(kind.nameKey(), name);
    if (journalPool.poolId() != imagePool.poolId()) {
      attributes.put(JournalEntry.JOURNAL_POOL, HEX.toHexDigits(journalPool.poolId()));
    }
    return attributes;
  }

  /** An object that has the request name and not yet the name on the cluster. */
  private JournalEntry completeObject(
      UUID uuid, String requestName, String name, Map<String, String> attributes) {
    try (WriteOperation write = new WriteOperation()) {
      write.assertExists().omapCompare(kind.requestNameKey(), requestName.getBytes(UTF_8));
      write.omapCompare(kind.nameKey(), ABSENT).omapSet(EntryAttributes.bytes(attributes));
      imagePool.operate(kind.object(uuid), write);
      return new JournalEntry(uuid, requestName, name, attributes);
    } catch (CephException.Canceled | CephException.NotFound e) {
      throw justDeleted("journal entry " + uuid, Optional.of(e));
    }
  }

  /** Somebody deletes what is being made; the retry of either finds it done. */
  private static VolumeException justDeleted(String what, Optional<CephException> cause) {
    String message = what + " is being deleted by another driver; try again";
    return cause.isPresent()
        ? new VolumeException(Reason.ABORTED, message, cause.get())
        : new VolumeException(Reason.ABORTED, message);
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
    String key = kind.directoryKey(requestName);
    try (ReadOperation read = new ReadOperation()) {
      var values = read.omapGetByKeys(List.of(key));
      journalPool.operate(directory, read);
      byte[] value = values.get().get(key);
      return value == null || value.length == 0
          ? Optional.empty()
          : Optional.of(DirectoryValue.decode(new String(value, UTF_8), journalPool.poolId()));
    } catch (CephException.NotFound e) {
      return Optional.empty();
    }
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
    removeObject(entry.uuid());
  }

  /**
   * Frees the name of an entry that stays, such as that of a deleted snapshot which others still
   * need; one round trip.
   */
  public void freeName(JournalEntry entry) {
    removeDirectoryKey(entry.requestName(), new DirectoryValue(entry.uuid(), imagePool.poolId()));
  }

  /**
   * Undoes a reservation; two round trips. The object goes first: should the process die in
   * between, the retry, which knows the name, still finds the key.
   */
  public void undo(JournalEntry entry) {
    removeObject(entry.uuid());
    freeName(entry);
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

  private void removeDirectoryKey(String requestName, DirectoryValue value) {
    String key = kind.directoryKey(requestName);
    byte[] mine = value.encode(journalPool.poolId());
    try (WriteOperation write = new WriteOperation()) {
      write.omapCompare(key, mine).omapRemove(List.of(key));
      journalPool.operate(directory, write);
    } catch (CephException.NotFound e) {
      LOG.debug("no directory {}", directory);
    } catch (CephException.Canceled e) {
      LOG.debug("{} belongs to another entry by now", key);
    }
  }

  private void removeObject(UUID uuid) {
    try {
      imagePool.remove(kind.object(uuid));
    } catch (CephException.NotFound e) {
      LOG.debug("journal entry {} is gone already", uuid);
    }
  }

  /**
   * A name that is reserved.
   *
   * @param entry what it stands for
   * @param isNew whether it was reserved just now
   */
  public record Reservation(JournalEntry entry, boolean isNew) {}
}
