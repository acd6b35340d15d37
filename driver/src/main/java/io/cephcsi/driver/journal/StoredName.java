package io.cephcsi.driver.journal;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.OmapWalk;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Consumer;

/**
 * A key of a journal's directory as it is stored, damaged ones too. Calls need a {@link Journal}
 * instead.
 *
 * @param kind what the name is of
 * @param instanceId whose directory it is in
 * @param requestName the name that a caller gave
 * @param value what is stored; bytes that are no UTF-8 as U+FFFD
 * @param target what it leads to; empty if the value is damaged
 */
public record StoredName(
    JournalKind kind,
    String instanceId,
    String requestName,
    String value,
    Optional<Target> target) {

  /**
   * What a name leads to.
   *
   * @param uuid of the entry
   * @param poolId the pool of the entry and its image
   */
  public record Target(UUID uuid, long poolId) {}

  /**
   * Visits all names of a directory; one round trip for every 1,000.
   *
   * @param io the pool of the directory
   * @return false if others wrote keys that it could not go on behind
   */
  public static boolean walk(
      IoContext io, JournalKind kind, String instanceId, Consumer<StoredName> visitor) {
    String prefix = kind.directoryKey("");
    return OmapWalk.keys(
        io,
        kind.directory(instanceId),
        prefix,
        (key, value) ->
            visitor.accept(of(io, kind, instanceId, key.substring(prefix.length()), value)));
  }

  private static StoredName of(
      IoContext io, JournalKind kind, String instanceId, String requestName, byte[] stored) {
    String value = new String(stored, UTF_8);
    Optional<Target> target;
    try {
      DirectoryValue decoded = DirectoryValue.decode(value, io.poolId());
      target = Optional.of(new Target(decoded.uuid(), decoded.poolId()));
    } catch (VolumeException e) {
      target = Optional.empty();
    }
    return new StoredName(kind, instanceId, requestName, value, target);
  }

  /** Reads one name; one round trip. */
  public static Optional<StoredName> find(
      IoContext io, JournalKind kind, String instanceId, String requestName) {
    String key = kind.directoryKey(requestName);
    try (ReadOperation read = new ReadOperation()) {
      var values = read.omapGetSmallByKeys(List.of(key));
      io.operate(kind.directory(instanceId), read);
      return Optional.ofNullable(values.get().get(key))
          .map(value -> of(io, kind, instanceId, requestName, value));
    } catch (CephException.NotFound e) {
      return Optional.empty();
    }
  }

  /** Whether it can be read again by its name: keys of others may be no text at all. */
  public boolean isPlain() {
    return PlainText.isPlain(requestName) && requestName.indexOf('\uFFFD') < 0;
  }

  /** Its value as it may be shown to a person, escaped and cut. */
  public String shownValue() {
    return DirectoryValue.show(value);
  }

  /** Whether it leads to an entry. */
  public boolean leadsTo(UUID uuid, long poolId) {
    return target.equals(Optional.of(new Target(uuid, poolId)));
  }

  /**
   * Removes it, unless it has another value by now; one round trip.
   *
   * @return whether it is gone
   */
  public boolean removeIfUnchanged(IoContext io) {
    String key = kind.directoryKey(requestName);
    try (WriteOperation write = new WriteOperation()) {
      write.omapCompare(key, value.getBytes(UTF_8)).omapRemove(List.of(key));
      io.operate(kind.directory(instanceId), write);
      return true;
    } catch (CephException.Canceled | CephException.NotFound e) {
      return false;
    }
  }

  /**
   * Makes a free name lead to an entry of the directory's pool; one round trip.
   *
   * @return false if the name is taken
   */
  public static boolean set(
      IoContext io, JournalKind kind, String instanceId, String requestName, UUID uuid) {
    String key = kind.directoryKey(requestName);
    byte[] nothing = {};
    try (WriteOperation write = new WriteOperation()) {
      write.create().omapCompare(key, nothing);
      write.omapSet(key, new DirectoryValue(uuid, io.poolId()).encode(io.poolId()));
      io.operate(kind.directory(instanceId), write);
      return true;
    } catch (CephException.Canceled e) {
      return false;
    }
  }
}
