package io.cephcsi.driver.journal;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.PendingRead;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.driver.cluster.LateReservation;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The keys of a directory object, each of which has a request name lead to an entry. Every call is
 * one round trip, however large the directory is. Safe for several threads and processes.
 */
final class NameKeys {
  private static final Logger LOG = LoggerFactory.getLogger(NameKeys.class);
  private static final byte[] ABSENT = {};

  private final JournalKind kind;
  private final IoContext pool;
  private final String object;

  NameKeys(JournalKind kind, String instanceId, IoContext pool) {
    this.kind = kind;
    this.pool = pool;
    this.object = kind.directory(instanceId);
  }

  /** The name of the object. */
  String object() {
    return object;
  }

  /**
   * A reservation, which may be carried out late.
   *
   * @param takesName whether it takes the name, or another one has
   * @param attributes all of the entry
   */
  LateReservation late(
      String requestName, DirectoryValue entry, boolean takesName, Map<String, String> attributes) {
    return new LateReservation(
        pool.namespace(),
        pool.poolId(),
        object,
        kind.directoryKey(requestName),
        entry.text(pool.poolId()),
        takesName,
        entry.poolId(),
        kind.object(entry.uuid()),
        attributes);
  }

  /** Has a name lead to an entry. False if it leads to one already. */
  boolean take(String requestName, DirectoryValue entry) {
    String key = kind.directoryKey(requestName);
    try (WriteOperation write = new WriteOperation()) {
      write.create().omapCompare(key, ABSENT);
      write.omapSet(key, entry.encode(pool.poolId()));
      pool.operate(object, write);
      return true;
    } catch (CephException.Canceled e) {
      return false;
    }
  }

  /** What a name leads to. */
  Optional<DirectoryValue> find(String requestName) {
    try (Pending read = read(requestName)) {
      return read.value();
    }
  }

  /** Begins to read what a name leads to. */
  Pending read(String requestName) {
    String key = kind.directoryKey(requestName);
    ReadOperation read = new ReadOperation();
    boolean begun = false;
    try {
      var values = read.omapGetByKeys(List.of(key));
      Pending pending = new Pending(pool.operateAsync(object, read), () -> values.get().get(key));
      begun = true;
      return pending;
    } finally {
      if (!begun) {
        read.close();
      }
    }
  }

  /** What is on its way; to be closed. Used by one thread. */
  final class Pending implements AutoCloseable {
    private final PendingRead read;
    private final Supplier<byte @Nullable []> bytes;

    private Pending(PendingRead read, Supplier<byte @Nullable []> bytes) {
      this.read = read;
      this.bytes = bytes;
    }

    /** Waits for what the name leads to. */
    Optional<DirectoryValue> value() {
      try {
        read.await();
      } catch (CephException.NotFound e) {
        return Optional.empty();
      }
      byte[] value;
      try {
        value = bytes.get();
      } catch (CephException.TooLarge e) {
        throw Damage.exception(object, e);
      }
      return value == null || value.length == 0
          ? Optional.empty()
          : Optional.of(DirectoryValue.decode(new String(value, UTF_8), pool.poolId()));
    }

    @Override
    public void close() {
      read.close();
    }
  }

  /** The entry that the name led to lately, as this process knows; does not block. */
  Optional<UUID> recent(String requestName) {
    return RecentNames.find(pool, object, requestName);
  }

  /** Remembers what a name leads to. */
  void remember(String requestName, UUID uuid) {
    RecentNames.remember(pool, object, requestName, uuid);
  }

  /** Removes the key of a name, if it leads to this entry. */
  void free(String requestName, DirectoryValue entry) {
    String key = kind.directoryKey(requestName);
    byte[] mine = entry.encode(pool.poolId());
    try (WriteOperation write = new WriteOperation()) {
      write.omapCompare(key, mine).omapRemove(List.of(key));
      pool.operate(object, write);
    } catch (CephException.NotFound e) {
      LOG.debug("no directory {}", object);
    } catch (CephException.Canceled e) {
      LOG.debug("{} belongs to another entry by now", key);
    }
  }
}
