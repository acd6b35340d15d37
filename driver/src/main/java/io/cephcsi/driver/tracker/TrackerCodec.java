package io.cephcsi.driver.tracker;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;

/**
 * The bytes of a reference tracker:
 *
 * <pre>
 *   object   rt-backingsnapshot-&lt;CSI snapshot id&gt;
 *   xattr    csi.ceph.com/rt-version   u32 big-endian, 1
 *   data     u32 big-endian, number of normal references
 *   omap     &lt;reference key&gt; → u8, 1 normal, 2 mask
 * </pre>
 */
final class TrackerCodec {
  static final String VERSION_XATTR = "csi.ceph.com/rt-version";
  static final String NAME_PREFIX = "rt-backingsnapshot-";

  static final long MAX_COUNT = 0xFFFF_FFFFL;

  /** How much of the data a reader asks for: one byte more than there is in a sound tracker. */
  static final int READ_BYTES = Integer.BYTES + 1;

  private static final int VERSION = 1;
  private static final byte NORMAL = 1;
  private static final byte MASK = 2;

  private static final int SHOWN_CHARS = 100;

  private TrackerCodec() {}

  static String name(String snapshotId) {
    return NAME_PREFIX + snapshotId;
  }

  static byte[] version() {
    return ByteBuffer.allocate(Integer.BYTES).putInt(VERSION).array();
  }

  /**
   * The data of a tracker.
   *
   * @param count 1 to 2³²−1: a tracker without references is removed
   */
  static byte[] data(long count) {
    if (count < 1 || count > MAX_COUNT) {
      throw new IllegalArgumentException("a tracker cannot count " + count + " references");
    }
    return ByteBuffer.allocate(Integer.BYTES).putInt((int) count).array();
  }

  /** The value of a key; empty for an absent one, as a comparison on the cluster sees it. */
  static byte[] value(ReferenceState state) {
    return switch (state) {
      case ABSENT -> new byte[0];
      case NORMAL -> new byte[] {NORMAL};
      case MASK -> new byte[] {MASK};
    };
  }

  /**
   * Reads a tracker.
   *
   * @param name of the object, for the message
   * @param version of the object
   * @param xattrs all or those that matter here
   * @param data the first {@link #READ_BYTES} bytes
   * @param omap all keys or those that were asked for
   * @throws TrackerFormatException when it is of another version or damaged
   */
  static TrackerState decode(
      String name,
      long version,
      Map<String, byte[]> xattrs,
      byte[] data,
      Map<String, byte[]> omap) {
    requireVersion(name, xattrs);
    if (data.length != Integer.BYTES) {
      throw new TrackerFormatException(
          name,
          "its data is " + (data.length < Integer.BYTES ? "shorter" : "longer") + " than a count");
    }
    long count = Integer.toUnsignedLong(ByteBuffer.wrap(data).getInt());
    if (count == 0) {
      throw new TrackerFormatException(name, "it counts no reference, but is still there");
    }
    Map<String, ReferenceState> references = new HashMap<>();
    omap.forEach((key, value) -> references.put(key, state(name, key, value)));
    return new TrackerState(version, count, references);
  }

  private static void requireVersion(String name, Map<String, byte[]> xattrs) {
    byte[] found = xattrs.get(VERSION_XATTR);
    if (found == null || found.length != Integer.BYTES) {
      throw new TrackerFormatException(name, "it has no valid " + VERSION_XATTR);
    }
    if (!Arrays.equals(found, version())) {
      String number = Integer.toUnsignedString(ByteBuffer.wrap(found).getInt());
      throw new TrackerFormatException(
          name, "it has version " + number + ", this driver knows " + VERSION);
    }
  }

  private static ReferenceState state(String name, String key, byte[] value) {
    if (value.length == 1 && value[0] == NORMAL) {
      return ReferenceState.NORMAL;
    }
    if (value.length == 1 && value[0] == MASK) {
      return ReferenceState.MASK;
    }
    String hex = HexFormat.of().formatHex(value, 0, Math.min(value.length, 8));
    String shown = key.length() > SHOWN_CHARS ? key.substring(0, SHOWN_CHARS) + "..." : key;
    throw new TrackerFormatException(
        name, "reference " + shown + " has the unknown value 0x" + hex);
  }
}
