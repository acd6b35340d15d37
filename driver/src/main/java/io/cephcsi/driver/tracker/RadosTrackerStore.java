package io.cephcsi.driver.tracker;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
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
    }
  }

  @Override
  public Optional<TrackerState> readAll(String name) {
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      try {
        return Optional.of(readPages(name));
      } catch (CephException.NotFound e) {
        return Optional.empty();
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
      var page = first.omapGetVals("", "", PAGE_KEYS);
      long version = io.operateVersioned(name, first);
      Map<String, byte[]> references = new LinkedHashMap<>(page.get().values());
      boolean more = page.get().more();
      while (more) {
        try (ReadOperation next = new ReadOperation().assertVersion(version)) {
          var following = next.omapGetVals(last(references), "", PAGE_KEYS);
          io.operate(name, next);
          references.putAll(following.get().values());
          more = following.get().more();
        }
      }
      return TrackerCodec.decode(name, version, xattrs.get(), data.get(), references);
    }
  }

  private static String last(Map<String, byte[]> references) {
    String last = "";
    for (String key : references.keySet()) {
      last = key;
    }
    return last;
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
