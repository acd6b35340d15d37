package io.cephcsi.bindings.rbd;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.internal.GrowingBuffer;
import io.cephcsi.bindings.internal.LibRbd;
import io.cephcsi.bindings.internal.NativeArena;
import io.cephcsi.bindings.internal.NativeHandle;
import io.cephcsi.bindings.internal.NativeMemory;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The metadata of an open image: text by key, stored in its header ({@code rbd_metadata_get} and
 * others). A view: usable until the image is closed. Safe for several threads. Keys that begin with
 * {@code conf_} are options of librbd for this image.
 */
public final class ImageMetadata {
  private static final int PAGE_KEYS = 256;
  private static final int PAGE_BYTES = 8192;

  private final RbdImage image;

  ImageMetadata(RbdImage image) {
    this.image = image;
  }

  private String describe(String key) {
    return image.path() + " " + key;
  }

  /**
   * The value of a key ({@code rbd_metadata_get}).
   *
   * @throws CephException.TooLarge if it has more than 64 KiB
   */
  public Optional<String> get(String key) {
    try {
      return Optional.of(image.use((pointer, arena) -> get(pointer, key, arena.cString(key))));
    } catch (CephException.NotFound e) {
      return Optional.empty();
    }
  }

  private String get(long pointer, String key, long name) {
    return GrowingBuffer.readValue(
        1024,
        "rbd_metadata_get",
        describe(key),
        (to, size, cell) -> LibRbd.rbd_metadata_get(pointer, name, to, cell),
        (value, code, length) -> NativeMemory.cString(value));
  }

  /** Sets the value of a key ({@code rbd_metadata_set}). */
  public void set(String key, String value) {
    change(
        "rbd_metadata_set",
        key,
        (p, arena) -> LibRbd.rbd_metadata_set(p, arena.cString(key), arena.cString(value)));
  }

  /**
   * Removes a key ({@code rbd_metadata_remove}).
   *
   * @throws CephException.NotFound if there is no such key
   */
  public void remove(String key) {
    change(
        "rbd_metadata_remove",
        key,
        (p, arena) -> LibRbd.rbd_metadata_remove(p, arena.cString(key)));
  }

  private void change(String operation, String key, NativeHandle.Call call) {
    image.change(operation, describe(key), () -> image.call(operation, describe(key), call));
  }

  /** All keys and values, in the order of the keys. */
  public Map<String, String> list() {
    Map<String, String> all = new LinkedHashMap<>();
    String last = "";
    Map<String, String> page;
    do {
      page = page(last, PAGE_KEYS);
      all.putAll(page);
      for (String key : page.keySet()) {
        last = key;
      }
    } while (page.size() == PAGE_KEYS);
    return all;
  }

  /**
   * Keys and values in the order of the keys ({@code rbd_metadata_list}).
   *
   * @param startAfter begin behind this key; empty to begin at the first
   * @param max how many at most, 1 or more
   */
  public Map<String, String> page(String startAfter, int max) {
    return image.use(
        (pointer, arena) -> {
          Page page = new Page(pointer, arena.cString(startAfter), max);
          return GrowingBuffer.read(2, PAGE_BYTES, "rbd_metadata_list", image.path(), page, page);
        });
  }

  /** One call; the keys fill the first half of the buffer, the values the second. */
  private static final class Page
      implements GrowingBuffer.Call, GrowingBuffer.Decoder<Map<String, String>> {
    private final long pointer;
    private final long start;
    private final int max;
    private long half;
    private long keyBytes;
    private long valueBytes;

    Page(long pointer, long start, int max) {
      this.pointer = pointer;
      this.start = start;
      this.max = max;
    }

    @Override
    public int into(long buffer, long capacity, long cell) {
      half = capacity;
      try (NativeArena arena = NativeArena.open()) {
        long keyCell = arena.cell(half);
        long valueCell = arena.cell(half);
        int code =
            LibRbd.rbd_metadata_list(
                pointer, start, max, buffer, keyCell, buffer + half, valueCell);
        keyBytes = arena.getLong(keyCell);
        valueBytes = arena.getLong(valueCell);
        NativeMemory.putLong(cell, Math.max(keyBytes, valueBytes));
        return code;
      }
    }

    @Override
    public Map<String, String> decode(long buffer, int code, long ignored) {
      List<String> keys = NativeMemory.cStrings(buffer, keyBytes);
      List<String> values = NativeMemory.cStrings(buffer + half, valueBytes);
      Map<String, String> page = new LinkedHashMap<>();
      for (int i = 0; i < keys.size(); i++) {
        page.put(keys.get(i), values.get(i));
      }
      return page;
    }
  }
}
