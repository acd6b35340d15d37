package io.cephcsi.driver.journal;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The objects of a journal's entries: how they are read, made and removed. Safe for several threads
 * and processes.
 *
 * @param kind what is recorded
 * @param journalPool the pool of the directory
 * @param imagePool the pool of the objects
 */
record EntryObjects(JournalKind kind, IoContext journalPool, IoContext imagePool) {
  private static final Logger LOG = LoggerFactory.getLogger(EntryObjects.class);
  private static final byte[] ABSENT = {};
  private static final HexFormat HEX = HexFormat.of();

  /** As {@link Journal#byUuid}. */
  Optional<JournalEntry> find(UUID uuid) {
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

  /** Makes an entry, or gives the one that is there; one round trip, or two. */
  JournalEntry create(UUID uuid, String requestName, String name, Map<String, String> more) {
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
      return find(uuid)
          .map(entry -> Damage.requireName(entry, requestName))
          .orElseGet(() -> completeObject(uuid, requestName, name, attributes));
    }
  }

  /** The keys of an entry. */
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

  /** Removes an entry that no other call went on with. */
  void removeUnlessReplaced(UUID uuid, String maker) {
    try (WriteOperation write = new WriteOperation()) {
      write.assertExists().omapCompare(JournalEntry.MAKER, maker.getBytes(UTF_8)).remove();
      imagePool.operate(kind.object(uuid), write);
    } catch (CephException.NotFound | CephException.Canceled e) {
      LOG.debug("entry {} is gone, or another attempt's", uuid);
    }
  }

  /** Replaces the generation of an entry; empty if it is not as it was read. */
  Optional<JournalEntry> renew(JournalEntry read) {
    return renew(read, Map.of(), List.of());
  }

  /** As {@link #renew(JournalEntry)}, and removes a key of the entry; whether it was as read. */
  boolean renewWithout(JournalEntry read, String key) {
    return renew(read, Map.of(), List.of(key)).isPresent();
  }

  /** As {@link #renew(JournalEntry)}, and marks the entry as being deleted. */
  boolean markUnlessRenewed(JournalEntry read) {
    return renew(read, Map.of(AttachmentJournal.DELETING, AttachmentJournal.newMark()), List.of())
        .isPresent();
  }

  private Optional<JournalEntry> renew(
      JournalEntry read, Map<String, String> more, List<String> gone) {
    String generation = read.attributes().get(AttachmentJournal.GENERATION);
    Map<String, String> values = new LinkedHashMap<>(more);
    values.put(AttachmentJournal.GENERATION, UUID.randomUUID().toString());
    try (WriteOperation write = new WriteOperation()) {
      write
          .assertExists()
          .omapCompare(
              AttachmentJournal.GENERATION,
              generation == null ? ABSENT : generation.getBytes(UTF_8))
          .omapSet(EntryAttributes.bytes(values));
      if (!gone.isEmpty()) {
        write.omapRemove(gone);
      }
      imagePool.operate(kind.object(read.uuid()), write);
      return Optional.of(read.with(values));
    } catch (CephException.Canceled | CephException.NotFound e) {
      LOG.debug("entry {} is gone, or another call goes on with it", read.uuid());
      return Optional.empty();
    }
  }

  /** Removes an entry. */
  void remove(UUID uuid) {
    try {
      imagePool.remove(kind.object(uuid));
    } catch (CephException.NotFound e) {
      LOG.debug("journal entry {} is gone already", uuid);
    }
  }

  /** Somebody deletes what is being made; the retry of either finds it done. */
  static VolumeException justDeleted(String what, Optional<CephException> cause) {
    String message = what + " is being deleted by another driver; try again";
    return cause.isPresent()
        ? new VolumeException(Reason.ABORTED, message, cause.get())
        : new VolumeException(Reason.ABORTED, message);
  }
}
