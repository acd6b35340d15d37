package io.cephcsi.driver.journal;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.StaleVersionException;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.driver.volume.VolumeException;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

/**
 * The object of an entry as it is stored, damaged or incomplete ones too. Calls need a {@link
 * JournalEntry} instead: see {@link Journal}.
 *
 * @param kind what it is of
 * @param uuid of the entry
 * @param attributes all keys; empty if they cannot be read
 * @param damage what is wrong with them, escaped; empty when nothing is
 * @param changedAt when it was written last, by the clock of who wrote it
 * @param version of the object
 */
public record StoredEntry(
    JournalKind kind,
    UUID uuid,
    Map<String, String> attributes,
    Optional<String> damage,
    Instant changedAt,
    long version) {
  private static final int PAGE = 1000;

  /** Copies the keys. */
  public StoredEntry {
    attributes = Map.copyOf(attributes);
  }

  /**
   * Reads it; one round trip for every 1,000 keys.
   *
   * @return empty if there is no such object
   */
  public static Optional<StoredEntry> read(IoContext io, JournalKind kind, UUID uuid) {
    String object = kind.object(uuid);
    try (ReadOperation read = new ReadOperation()) {
      read.assertExists();
      var stat = read.stat();
      var page = read.omapGetVals("", "", PAGE);
      long version = io.operateVersioned(object, read);
      Map<String, String> attributes = new LinkedHashMap<>();
      Optional<String> damage;
      try {
        page.get().values().forEach((key, value) -> attributes.put(key, new String(value, UTF_8)));
        if (page.get().more()) {
          attributes.putAll(EntryAttributes.read(io, object));
        }
        damage = Damage.of(kind, attributes);
      } catch (CephException.TooLarge e) {
        damage = Optional.of(e.detail());
      } catch (VolumeException e) {
        damage = Optional.of(String.valueOf(e.getMessage()));
      }
      return Optional.of(
          new StoredEntry(kind, uuid, attributes, damage, stat.get().modified(), version));
    } catch (CephException.NotFound e) {
      return Optional.empty();
    }
  }

  /** Whether there is such an object; one round trip. */
  public static boolean exists(IoContext io, JournalKind kind, UUID uuid) {
    return io.exists(kind.object(uuid));
  }

  /** The entry; empty if it is damaged or lacks its names. */
  public Optional<JournalEntry> entry() {
    String requestName = attributes.get(kind.requestNameKey());
    String name = attributes.get(kind.nameKey());
    return damage.isPresent() || requestName == null || name == null
        ? Optional.empty()
        : Optional.of(new JournalEntry(uuid, requestName, name, attributes));
  }

  /** Whether a driver began to delete what it is of. */
  public boolean isBeingDeleted() {
    return attributes.containsKey(AttachmentJournal.DELETING);
  }

  /**
   * Removes the object, unless it was written since it was read; one round trip.
   *
   * @return false if it was written, or is gone
   */
  public boolean removeIfUnchanged(IoContext io) {
    try (WriteOperation write = new WriteOperation()) {
      write.assertVersion(version).remove();
      io.operate(kind.object(uuid), write);
      return true;
    } catch (StaleVersionException | CephException.NotFound e) {
      return false;
    }
  }
}
