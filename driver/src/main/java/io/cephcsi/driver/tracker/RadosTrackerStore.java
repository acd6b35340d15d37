package io.cephcsi.driver.tracker;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.OmapPage;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.StaleVersionException;
import io.cephcsi.bindings.rados.WriteOperation;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Trackers as RADOS objects of one pool and namespace. Versions come with each operation ({@code
 * rados_aio_get_version}), not from the context, which all threads share.
 */
public final class RadosTrackerStore implements TrackerStore {
  private static final int PAGE_KEYS = 1000;
  private static final int ATTEMPTS = 10;
  private static final int MOST_BYTES = 4 << 20;
  private static final int REFERENCE_BYTES = 64; // in memory, beside its key

  private final IoContext io;

  /**
   * @param io the metadata pool of the file system, in the namespace of CephFS
   */
  public RadosTrackerStore(IoContext io) {
    this.io = io;
  }

  @Override
  public Optional<TrackerState> read(String name, Collection<String> keys) {
    try (ReadOperation read = new ReadOperation()) {
      var xattrs = read.getXattrs();
      var data = read.read(0, TrackerCodec.READ_BYTES);
      var references = read.omapGetByKeys(keys);
      long version = io.operateVersioned(name, read);
      return Optional.of(
          TrackerCodec.decode(name, version, xattrs.get(), data.get(), references.get()));
    } catch (CephException.NotFound e) {
      return Optional.empty();
    } catch (CephException.TooLarge e) {
      throw new TrackerFormatException(name, e.detail());
    }
  }

  @Override
  public Optional<TrackerState> readAll(String name) {
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      try {
        return Optional.of(readPages(name));
      } catch (CephException.NotFound e) {
        return Optional.empty();
      } catch (CephException.TooLarge e) {
        throw new TrackerFormatException(name, e.detail());
      } catch (StaleVersionException e) {
        // It was written between two pages: once more.
      }
    }
    throw TrackerQueue.tooMany(name);
  }

  private TrackerState readPages(String name) {
    try (ReadOperation first = new ReadOperation()) {
      var xattrs = first.getXattrs();
      var data = first.read(0, TrackerCodec.READ_BYTES);
      var firstPage = first.omapGetValsBehind("", "", PAGE_KEYS);
      long version = io.operateVersioned(name, first);
      OmapPage page = firstPage.get();
      Map<String, byte[]> references = new LinkedHashMap<>(page.values());
      long bytes = bytes(page);
      while (page.more()) {
        if (bytes > MOST_BYTES) {
          throw new TrackerFormatException(
              name, "its references have more than " + MOST_BYTES + " bytes");
        }
        page = pageBehind(page.last(), name, version);
        references.putAll(page.values());
        bytes += bytes(page);
      }
      return TrackerCodec.decode(name, version, xattrs.get(), data.get(), references);
    }
  }

  private OmapPage pageBehind(String last, String name, long version) {
    try (ReadOperation next = new ReadOperation().assertVersion(version)) {
      var read = next.omapGetValsBehind(last, "", PAGE_KEYS);
      io.operate(name, next);
      OmapPage page = read.get();
      if (page.more() && page.last().compareTo(last) <= 0) { // behind a zero byte
        throw new TrackerFormatException(name, "it has a key that is no name");
      }
      return page;
    }
  }

  private static long bytes(OmapPage page) {
    return page.values().keySet().stream().mapToLong(key -> REFERENCE_BYTES + key.length()).sum();
  }

  @Override
  public OptionalLong write(String name, TrackerWrite write) {
    try (WriteOperation operation = new WriteOperation()) {
      boolean creates = write instanceof TrackerWrite.Create;
      build(operation, write);
      try {
        return OptionalLong.of(io.operateVersioned(name, operation));
      } catch (StaleVersionException | CephException.Canceled e) {
        return OptionalLong.empty();
      } catch (CephException.AlreadyExists | CephException.NotFound e) {
        if (creates == e instanceof CephException.NotFound) {
          throw e; // not about the tracker
        }
        return OptionalLong.empty();
      }
    }
  }

  private static void build(WriteOperation operation, TrackerWrite write) {
    if (write instanceof TrackerWrite.Create create) {
      operation.createExclusive();
      operation.setXattr(TrackerCodec.VERSION_XATTR, TrackerCodec.version());
      change(operation, create.count(), create.references());
    } else if (write instanceof TrackerWrite.Update update) {
      expect(operation, update.version(), update.expected());
      change(operation, update.count(), update.changes());
    } else if (write instanceof TrackerWrite.Remove remove) {
      expect(operation, remove.version(), remove.expected());
      operation.remove();
    }
  }

  private static void expect(
      WriteOperation operation, long version, Map<String, ReferenceState> expected) {
    operation.assertVersion(version);
    expected.forEach((key, state) -> operation.omapCompare(key, TrackerCodec.value(state)));
  }

  private static void change(
      WriteOperation operation, long count, Map<String, ReferenceState> changes) {
    Map<String, byte[]> set = new HashMap<>();
    changes.forEach(
        (key, state) -> {
          if (state != ReferenceState.ABSENT) {
            set.put(key, TrackerCodec.value(state));
          }
        });
    if (!set.isEmpty()) {
      operation.omapSet(set);
    }
    List<String> removed = changes.keySet().stream().filter(key -> !set.containsKey(key)).toList();
    if (!removed.isEmpty()) {
      operation.omapRemove(removed);
    }
    operation.writeFull(TrackerCodec.data(count));
  }

  @Override
  public List<String> names(String prefix) {
    return io.objects().stream().filter(name -> name.startsWith(prefix)).sorted().toList();
  }
}
