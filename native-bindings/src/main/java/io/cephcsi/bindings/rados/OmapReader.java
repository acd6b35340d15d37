package io.cephcsi.bindings.rados;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.error.ReturnCode;
import io.cephcsi.bindings.internal.LibRados;
import io.cephcsi.bindings.internal.NativeArena;
import io.cephcsi.bindings.internal.NativeMemory;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Copies what librados has read of an omap, in the cluster's order, that of the keys' bytes: Java's
 * strings compare otherwise.
 *
 * @param limit how much may be copied
 * @param object for errors
 * @param large what becomes of a value that is too large
 */
record OmapReader(ReadLimit limit, String object, Large large) {
  private static final byte[] EMPTY = {};
  private static final byte BEHIND = (byte) 0xff;

  /** What becomes of a value that is too large, or of one whose key is. */
  enum Large {
    /** The step fails. */
    FAILS,
    /** An empty one comes instead of it. */
    COMES_EMPTY
  }

  /**
   * As many as there is room for, at least one.
   *
   * @param more whether the cluster has more than librados has
   */
  OmapPage page(long iterator, boolean more) {
    try (Entries entries = new Entries(iterator)) {
      Map<String, byte[]> values = new LinkedHashMap<>();
      byte[] last = EMPTY;
      while (entries.next()) {
        boolean isLarge = limit.isLarge(entries.keyBytes()) || limit.isLarge(entries.valueBytes());
        if (isLarge && large == Large.FAILS) {
          throw entries.tooLarge();
        }
        long copied = isLarge ? entries.shortKeyBytes() : entries.keyBytes() + entries.valueBytes();
        if (!limit.fits(copied) && !values.isEmpty()) {
          return new OmapPage(values, true, new String(last, ISO_8859_1));
        }
        limit.take(copied);
        last = entries.shortKey();
        values.put(new String(last, UTF_8), isLarge ? EMPTY : entries.value());
        if (limit.isLarge(entries.keyBytes())) { // go on behind all keys that begin so
          last = Arrays.copyOf(last, last.length + 1);
          last[last.length - 1] = BEHIND;
        }
      }
      return new OmapPage(values, more, new String(last, ISO_8859_1));
    }
  }

  /** Those that were asked for by their keys. */
  Map<String, byte[]> values(long iterator) {
    try (Entries entries = new Entries(iterator)) {
      Map<String, byte[]> values = new LinkedHashMap<>();
      while (entries.next()) {
        boolean isLarge = limit.isLarge(entries.valueBytes()) || !limit.fits(entries.valueBytes());
        if (isLarge && large == Large.FAILS) {
          throw entries.tooLarge();
        }
        limit.take(isLarge ? 0 : entries.valueBytes());
        values.put(new String(entries.shortKey(), UTF_8), isLarge ? EMPTY : entries.value());
      }
      return values;
    }
  }

  /** One key and value after the other. */
  private final class Entries implements AutoCloseable {
    private final NativeArena arena = NativeArena.open();
    private final long iterator;
    private final long key = arena.cell(0);
    private final long value = arena.cell(0);
    private final long keyLength = arena.cell(0);
    private final long valueLength = arena.cell(0);

    Entries(long iterator) {
      this.iterator = iterator;
    }

    boolean next() {
      ReturnCode.check(
          LibRados.rados_omap_get_next2(iterator, key, value, keyLength, valueLength),
          "rados_omap_get_next2",
          object);
      return arena.getLong(key) != 0;
    }

    long keyBytes() {
      return arena.getLong(keyLength);
    }

    long valueBytes() {
      return arena.getLong(valueLength);
    }

    /** Of a key that is too large, as much as one may have. */
    long shortKeyBytes() {
      return limit.isLarge(keyBytes()) ? ReadLimit.VALUE_BYTES : keyBytes();
    }

    byte[] shortKey() {
      return NativeMemory.bytes(arena.getLong(key), shortKeyBytes());
    }

    byte[] value() {
      return NativeMemory.bytes(arena.getLong(value), valueBytes());
    }

    RuntimeException tooLarge() {
      return limit.tooLarge(object, arena.getLong(key), keyBytes(), valueBytes());
    }

    @Override
    public void close() {
      arena.close();
    }
  }
}
