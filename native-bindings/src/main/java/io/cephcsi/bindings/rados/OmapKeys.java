package io.cephcsi.bindings.rados;

import io.cephcsi.bindings.internal.NativeArena;
import java.util.Collection;

/**
 * Omap keys as the C arrays that librados takes.
 *
 * @param pointers address of the array of pointers
 * @param lengths address of the array of lengths
 */
record OmapKeys(long pointers, long lengths) {
  static OmapKeys of(NativeArena arena, Collection<String> keys) {
    long[] pointers = new long[keys.size()];
    long[] lengths = new long[keys.size()];
    int i = 0;
    for (String key : keys) {
      pointers[i] = arena.cString(key);
      lengths[i] = NativeArena.utf8Length(key);
      i++;
    }
    return new OmapKeys(arena.longs(pointers), arena.longs(lengths));
  }
}
