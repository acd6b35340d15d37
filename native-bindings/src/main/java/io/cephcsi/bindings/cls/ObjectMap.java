package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.ImageLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.LongPredicate;
import java.util.zip.CRC32C;

/**
 * The object map of an image or snapshot: two bits for each object. Read directly, without opening
 * the image; whether it may be trusted, the header's features and flags say. Immutable.
 *
 * <p>A client that writes the image marks an object here before it writes it, and unmarks it after
 * it is gone: the map may show an object that is not there yet or any more, never the other way.
 *
 * <pre>
 *   offset  bytes
 *        0  4      14, the length of the next part
 *        4  6      1, 1, 8 as 32 bits: version, oldest reader, length
 *       10  8      number of objects n
 *       18  n/4    two bits an object, rounded up; the first object in the high bits
 *           4      length of the footer
 *           4      CRC of the first part
 *           4      number of CRCs, then 4 bytes each: one for every 4096 bytes of the bits
 * </pre>
 */
public final class ObjectMap {
  /** Low bit of each pair. */
  static final long LOW = 0x5555_5555_5555_5555L;

  /** A map is read as it is stored, and decoded: twice the memory of one. */
  static final int READING = 2;

  private static final int HEADER_BYTES = 18;
  private static final int CRC_BLOCK = 4096;
  private static final int OBJECTS_IN_WORD = 32;

  /**
   * The most objects of a map that is read: 8 MiB of bits, for 128 TiB with objects of 4 MiB. An
   * image names its size itself; librbd's own bound, 256 million, takes more memory than many a
   * process has.
   */
  public static final long MOST_OBJECTS = 1 << 25;

  private static final long ZERO_BLOCK = zeroes(CRC_BLOCK);

  /** For maps that are longer than they should be, up to the largest: one at a time. */
  private static final ReentrantLock LONGER = new ReentrantLock(true);

  private final long[] words;
  private final long objects;

  private ObjectMap(long[] words, long objects) {
    this.words = words;
    this.objects = objects;
  }

  /** The name of the object that holds the map; snapshot 0 is the head. */
  static String object(String imageId, long snapshotId) {
    String head = "rbd_object_map." + imageId;
    return snapshotId == 0 ? head : String.format("%s.%016x", head, snapshotId);
  }

  /**
   * Reads a map, as a rule in one round trip. Waits while others of this process read large ones.
   *
   * @param snapshotId 0 for the head
   * @param objects how many objects the image or snapshot has; what the map holds beyond is cut off
   * @return empty when there is no map, it is damaged, it is too short, or it has more than {@link
   *     #MOST_OBJECTS}
   */
  public static Optional<ObjectMap> read(
      IoContext io, String imageId, long snapshotId, long objects) {
    try (MapMemory.Held held = MapMemory.take(objects, READING)) {
      return readHeld(io, imageId, snapshotId, objects);
    }
  }

  /** As {@link #read}; the caller has taken {@link #READING} times the memory of the map. */
  static Optional<ObjectMap> readHeld(IoContext io, String imageId, long snapshotId, long objects) {
    return stored(io, imageId, snapshotId, objects, stored -> decode(stored, objects));
  }

  /**
   * Whether librbd can use a map: it also takes one without checksums, as long as nothing else is
   * wrong with it. Where it cannot, it asks every object without a word. The same round trips.
   */
  static boolean isUsable(IoContext io, String imageId, long snapshotId, long objects) {
    try (MapMemory.Held held = MapMemory.take(objects, READING)) {
      return stored(
              io,
              imageId,
              snapshotId,
              objects,
              stored ->
                  isWithoutChecksums(stored, objects)
                      ? Optional.of(true)
                      : decode(stored, objects).map(map -> true))
          .isPresent();
    }
  }

  private static <T> Optional<T> stored(
      IoContext io,
      String imageId,
      long snapshotId,
      long objects,
      Function<byte[], Optional<T>> decode) {
    if (objects < 0 || objects > MOST_OBJECTS) {
      return Optional.empty();
    }
    String object = object(imageId, snapshotId);
    int expected = expectedBytes(objects);
    try {
      // One byte more than expected tells a map that is longer, as after a shrink was broken off.
      byte[] stored = io.read(object, 0, expected + 1);
      if (stored.length <= expected) {
        return decode.apply(stored);
      }
      LONGER.lock();
      try {
        // What is longer than the largest is no map.
        return decode.apply(io.read(object, 0, expectedBytes(MOST_OBJECTS) + 1));
      } finally {
        LONGER.unlock();
      }
    } catch (CephException.NotFound e) {
      return Optional.empty();
    }
  }

  private static int expectedBytes(long objects) {
    long bits = (objects + 3) / 4;
    return (int) (HEADER_BYTES + bits + 12 + 4 * ((bits + CRC_BLOCK - 1) / CRC_BLOCK));
  }

  private static boolean hasHeader(ByteBuffer from, long objects) {
    return from.capacity() >= HEADER_BYTES + 4
        && from.getInt(0) == 14
        && from.get(5) == 1
        && from.getLong(10) >= objects
        && from.getLong(10) <= MOST_OBJECTS;
  }

  private static boolean isWithoutChecksums(byte[] stored, long objects) {
    ByteBuffer from = ByteBuffer.wrap(stored).order(ByteOrder.LITTLE_ENDIAN);
    if (!hasHeader(from, objects)) {
      return false;
    }
    int footer = (int) (HEADER_BYTES + (from.getLong(10) + 3) / 4);
    return stored.length == footer + 4 && from.getInt(footer) == 0;
  }

  /** Decodes and checks a stored map. */
  static Optional<ObjectMap> decode(byte[] stored, long objects) {
    ByteBuffer from = ByteBuffer.wrap(stored).order(ByteOrder.LITTLE_ENDIAN);
    if (!hasHeader(from, objects)) {
      return Optional.empty();
    }
    long stands = from.getLong(10);
    int bits = (int) ((stands + 3) / 4);
    if (stored.length != expectedBytes(stands) || !crcsFit(from, stored, bits)) {
      return Optional.empty();
    }
    return Optional.of(of(ByteBuffer.wrap(stored, HEADER_BYTES, bits), objects));
  }

  private static boolean crcsFit(ByteBuffer from, byte[] stored, int bits) {
    int footer = HEADER_BYTES + bits;
    int blocks = (bits + CRC_BLOCK - 1) / CRC_BLOCK;
    if (from.getInt(footer) != 8 + 4 * blocks
        || from.getInt(footer + 8) != blocks
        || from.getInt(footer + 4) != crc(stored, 4, HEADER_BYTES - 4)) {
      return false;
    }
    for (int i = 0; i < blocks; i++) {
      int at = HEADER_BYTES + i * CRC_BLOCK;
      int length = Math.min(CRC_BLOCK, footer - at);
      if (crc(stored, at, length) != from.getInt(footer + 12 + 4 * i)) {
        return false;
      }
    }
    return true;
  }

  /**
   * Ceph's CRC-32C begins with 0 and is not inverted: what the usual beginning adds is taken out.
   */
  private static int crc(byte[] bytes, int at, int length) {
    CRC32C crc = new CRC32C();
    crc.update(bytes, at, length);
    long usual = crc.getValue();
    return (int) (usual ^ (length == CRC_BLOCK ? ZERO_BLOCK : zeroes(length)));
  }

  private static long zeroes(int length) {
    CRC32C crc = new CRC32C();
    crc.update(new byte[length]);
    return crc.getValue();
  }

  private static ObjectMap of(ByteBuffer bits, long objects) {
    long[] words = new long[(int) ((objects + OBJECTS_IN_WORD - 1) / OBJECTS_IN_WORD)];
    int whole = Math.min(words.length, bits.remaining() / Long.BYTES);
    bits.slice().order(ByteOrder.BIG_ENDIAN).asLongBuffer().get(words, 0, whole);
    bits.position(bits.position() + whole * Long.BYTES);
    if (whole < words.length) {
      byte[] rest = new byte[Long.BYTES];
      bits.get(rest, 0, bits.remaining());
      words[whole] = ByteBuffer.wrap(rest).getLong();
    }
    int inLast = (int) (objects % OBJECTS_IN_WORD);
    if (inLast > 0) {
      words[words.length - 1] &= -1L << (Long.SIZE - 2 * inLast);
    }
    return new ObjectMap(words, objects);
  }

  /** A map for an image that has none, or none that is valid. */
  public static ObjectMap of(long objects, LongPredicate exists) {
    long[] words = new long[(int) ((objects + OBJECTS_IN_WORD - 1) / OBJECTS_IN_WORD)];
    for (long object = 0; object < objects; object++) {
      if (exists.test(object)) {
        words[(int) (object / OBJECTS_IN_WORD)] |= 1L << shift(object);
      }
    }
    return new ObjectMap(words, objects);
  }

  private static int shift(long object) {
    return Long.SIZE - 2 - 2 * (int) (object % OBJECTS_IN_WORD);
  }

  /** How many objects the map covers. */
  public long objects() {
    return objects;
  }

  /** How many objects exist, or are being removed. */
  public long existing() {
    long count = 0;
    for (long word : words) {
      count += Long.bitCount((word | word >>> 1) & LOW);
    }
    return count;
  }

  /** The bytes of the objects that exist, or are being removed, of an image as large as the map. */
  long existingBytes(ImageLayout layout) {
    long bytes = existing() * layout.objectSize();
    for (long object = layout.firstPartialObject(); object < objects; object++) {
      bytes -= exists(object) ? layout.objectSize() - layout.bytesOf(object) : 0;
    }
    return bytes;
  }

  /** Whether an object exists, or is being removed. */
  public boolean exists(long object) {
    return state(object) != 0;
  }

  /** Whether an object exists and was not written since the last snapshot. */
  public boolean isClean(long object) {
    return state(object) == 3;
  }

  private int state(long object) {
    return object < 0 || object >= objects
        ? 0
        : (int) (words[(int) (object / OBJECTS_IN_WORD)] >>> shift(object)) & 3;
  }

  /** The next object from here on that exists; -1 if there is none. */
  public long nextExisting(long from) {
    if (from >= objects) {
      return -1;
    }
    int i = (int) (from / OBJECTS_IN_WORD);
    long word = words[i] & -1L >>> (2 * (int) (from % OBJECTS_IN_WORD));
    while (word == 0) {
      if (++i == words.length) {
        return -1;
      }
      word = words[i];
    }
    return (long) i * OBJECTS_IN_WORD + Long.numberOfLeadingZeros(word) / 2;
  }

  long[] words() {
    return words;
  }
}
