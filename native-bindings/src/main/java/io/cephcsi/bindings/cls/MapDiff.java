package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.rbd.ImageLayout;
import java.util.Arrays;
import java.util.BitSet;

/**
 * What changed over the object maps of successive snapshots, 32 objects at a time: the rules of
 * librbd's fast diff. Used by one thread.
 */
final class MapDiff {
  private long[] data = new long[0]; // the object has data, in the low bits of the pairs
  private long[] updated = new long[0]; // it changed since the start

  /** How many times the memory of a map a comparison takes, beside the map itself. */
  static final int MAPS = 2;

  private MapDiff() {}

  /** A diff that begins with nothing: all that exists is a change. */
  static MapDiff fromNothing() {
    return new MapDiff();
  }

  /** A diff that begins with a snapshot. */
  static MapDiff from(ObjectMap start) {
    MapDiff diff = new MapDiff();
    diff.startFrom(start);
    return diff;
  }

  /** Begins anew with a snapshot, in the same memory. */
  void startFrom(ObjectMap start) {
    long[] words = start.words();
    if (words.length != data.length) {
      data = new long[0]; // before the new ones are made
      updated = data;
      data = new long[words.length];
      updated = new long[words.length];
    }
    Arrays.fill(updated, 0);
    for (int i = 0; i < words.length; i++) {
      data[i] = (words[i] | words[i] >>> 1) & ObjectMap.LOW;
    }
  }

  /** Goes on to the next snapshot, or to the head. */
  void next(ObjectMap map) {
    long[] words = map.words();
    if (words.length > data.length) {
      data = Arrays.copyOf(data, words.length);
      updated = Arrays.copyOf(updated, words.length);
    }
    for (int i = 0; i < words.length; i++) {
      long low = words[i] & ObjectMap.LOW;
      long high = words[i] >>> 1 & ObjectMap.LOW;
      long written = (low ^ high) | (low & high & ~data[i]);
      long gone = data[i] & ~(low | high);
      data[i] = (data[i] | written) & ~gone;
      updated[i] |= written | gone;
    }
  }

  /** The objects that were written or removed since the start, in a quarter of the memory. */
  BitSet updated() {
    BitSet objects = new BitSet(updated.length * 32);
    for (int word = 0; word < updated.length; word++) {
      for (long left = updated[word]; left != 0; left &= left - 1) {
        objects.set(word * 32 + (Long.SIZE - 2 - Long.numberOfTrailingZeros(left)) / 2);
      }
    }
    return objects;
  }

  /** The bytes of the objects that were written since the start and still exist. */
  long writtenBytes(ImageLayout layout) {
    long objects = 0;
    int words = (int) Math.min(data.length, (layout.objects() + 31) / 32);
    for (int i = 0; i < words; i++) {
      objects += Long.bitCount(data[i] & updated[i]);
    }
    long bytes = objects * layout.objectSize();
    for (long o = layout.firstPartialObject(); o < layout.objects(); o++) {
      long bit = 1L << (Long.SIZE - 2 - 2 * (int) (o % 32));
      if ((data[(int) (o / 32)] & updated[(int) (o / 32)] & bit) != 0) {
        bytes -= layout.objectSize() - layout.bytesOf(o);
      }
    }
    return bytes;
  }
}
