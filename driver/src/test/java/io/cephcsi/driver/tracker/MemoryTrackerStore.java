package io.cephcsi.driver.tracker;

import io.cephcsi.driver.testing.RawObject;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** The bytes of trackers in memory, with the versions that an OSD would give. */
final class MemoryTrackerStore implements TrackerStore {
  private final Map<String, Stored> objects = new TreeMap<>();
  private final List<String> calls = new ArrayList<>();
  private final Set<String> compared = new TreeSet<>();
  private long version;

  private record Stored(long version, RawObject bytes) {}

  /** The calls since the last time this was asked: what would be round trips. */
  synchronized List<String> takeCalls() {
    List<String> taken = List.copyOf(calls);
    calls.clear();
    return taken;
  }

  /** The keys that writes compared since the last time this was asked. */
  synchronized Set<String> takeCompared() {
    Set<String> taken = Set.copyOf(compared);
    compared.clear();
    return taken;
  }

  synchronized void putRaw(String name, RawObject bytes) {
    objects.put(name, new Stored(++version, bytes));
  }

  synchronized Optional<RawObject> raw(String name) {
    return Optional.ofNullable(objects.get(name)).map(Stored::bytes);
  }

  @Override
  public synchronized Optional<TrackerState> read(String name, Collection<String> keys) {
    calls.add("read");
    return decode(name, keys);
  }

  @Override
  public synchronized Optional<TrackerState> readAll(String name) {
    calls.add("readAll");
    return raw(name).flatMap(bytes -> decode(name, bytes.omap().keySet()));
  }

  private Optional<TrackerState> decode(String name, Collection<String> keys) {
    Stored stored = objects.get(name);
    if (stored == null) {
      return Optional.empty();
    }
    Map<String, byte[]> omap = new HashMap<>(stored.bytes().omap());
    omap.keySet().retainAll(List.copyOf(keys));
    byte[] data = stored.bytes().data();
    return Optional.of(
        TrackerCodec.decode(
            name,
            stored.version(),
            stored.bytes().xattrs(),
            Arrays.copyOf(data, Math.min(data.length, TrackerCodec.READ_BYTES)),
            omap));
  }

  @Override
  public synchronized OptionalLong write(String name, TrackerWrite write) {
    calls.add("write");
    Stored stored = objects.get(name);
    if (write instanceof TrackerWrite.Create create) {
      if (stored != null) {
        return OptionalLong.empty();
      }
      return put(
          name,
          Map.of(TrackerCodec.VERSION_XATTR, TrackerCodec.version()),
          create.count(),
          Map.of(),
          create.references());
    }
    if (write instanceof TrackerWrite.Update update) {
      if (stored == null || !fits(stored, update.version(), update.expected())) {
        return OptionalLong.empty();
      }
      RawObject bytes = stored.bytes();
      return put(name, bytes.xattrs(), update.count(), bytes.omap(), update.changes());
    }
    TrackerWrite.Remove remove = (TrackerWrite.Remove) write;
    if (stored == null || !fits(stored, remove.version(), remove.expected())) {
      return OptionalLong.empty();
    }
    objects.remove(name);
    return OptionalLong.of(++version);
  }

  private boolean fits(Stored stored, long version, Map<String, ReferenceState> expected) {
    compared.addAll(expected.keySet());
    return stored.version() == version
        && expected.entrySet().stream()
            .allMatch(
                entry ->
                    Arrays.equals(
                        stored.bytes().omap().getOrDefault(entry.getKey(), new byte[0]),
                        TrackerCodec.value(entry.getValue())));
  }

  private OptionalLong put(
      String name,
      Map<String, byte[]> xattrs,
      long count,
      Map<String, byte[]> omap,
      Map<String, ReferenceState> changes) {
    Map<String, byte[]> changed = new TreeMap<>(omap);
    changes.forEach(
        (key, state) -> {
          if (state == ReferenceState.ABSENT) {
            changed.remove(key);
          } else {
            changed.put(key, TrackerCodec.value(state));
          }
        });
    putRaw(name, new RawObject(xattrs, TrackerCodec.data(count), changed));
    return OptionalLong.of(version);
  }

  @Override
  public synchronized List<String> names(String prefix) {
    return objects.keySet().stream().filter(name -> name.startsWith(prefix)).toList();
  }
}
