package io.cephcsi.driver.reclaim.fs;

/**
 * A range of logical addresses and where it is on the device: once, or twice (DUP).
 *
 * @param start logical address
 * @param length bytes
 * @param flags what it is for, and its profile
 * @param first where on the device its only or first copy starts, in bytes
 * @param second where the second copy starts; -1 if there is none
 */
record BtrfsChunk(long start, long length, long flags, long first, long second) {
  static final long DATA = 1;
  static final long SYSTEM = 1 << 1;
  static final long METADATA = 1 << 2;
  private static final long DUP = 1 << 5;

  private static final int FIXED = 48;
  private static final int STRIPE = 32;

  /** Bytes at the start of the device that no chunk may use. */
  static final long RESERVED = 1 << 20;

  private static final long NONE = -1;

  /** Bytes of a chunk at the start of {@code from}, which may hold more. */
  static int sizeIn(BtrfsFields from) {
    Refusal.require(from.length() >= FIXED, "a chunk is cut off");
    int size = FIXED + from.u16(44) * STRIPE;
    Refusal.require(from.length() >= size, "a chunk is cut off");
    return size;
  }

  /** Decodes and checks a chunk. */
  static BtrfsChunk of(BtrfsKey key, BtrfsFields item, BtrfsSuperblock superblock) {
    Refusal.require(
        key.objectId() == BtrfsKey.FIRST_CHUNK_TREE
            && key.type() == BtrfsKey.CHUNK_ITEM
            && sizeIn(item) == item.length(),
        "a chunk tree item that is no chunk");
    long length = item.u64(0);
    long flags = item.u64(24);
    long kind = flags & (DATA | SYSTEM | METADATA);
    if ((flags & ~kind & ~DUP) != 0 || Long.bitCount(kind) != 1) {
      throw Refusal.unsupported("a chunk of type 0x" + Long.toHexString(flags));
    }
    int sector = superblock.sectorSize;
    Refusal.require(
        key.offset() >= 0
            && length > 0
            && length <= superblock.totalBytes
            && length / sector <= Integer.MAX_VALUE
            && key.offset() <= Long.MAX_VALUE - length
            && key.offset() % sector == 0
            && length % sector == 0
            && item.u64(8) == 2
            && item.u16(44) == ((flags & DUP) == 0 ? 1 : 2),
        "a bad chunk");
    long first = stripe(item, 0, length, superblock);
    long second = (flags & DUP) == 0 ? NONE : stripe(item, 1, length, superblock);
    return new BtrfsChunk(key.offset(), length, flags, first, second);
  }

  private static long stripe(BtrfsFields item, int index, long length, BtrfsSuperblock superblock) {
    int at = FIXED + index * STRIPE;
    Refusal.require(
        item.u64(at) == superblock.deviceId() && item.uuid(at + 16).equals(superblock.deviceUuid()),
        "a chunk on another device");
    long offset = item.u64(at + 8);
    if (offset >= 0 && offset < RESERVED) {
      throw Refusal.unsupported("a chunk in the first MiB");
    }
    Refusal.require(
        offset >= RESERVED
            && offset % superblock.sectorSize == 0
            && offset <= superblock.totalBytes - length,
        "a chunk outside of the device");
    return offset;
  }

  long end() {
    return start + length;
  }

  /** Whether it holds files' data rather than tree blocks. */
  boolean data() {
    return (flags & DATA) != 0;
  }

  boolean system() {
    return (flags & SYSTEM) != 0;
  }

  /** How many copies there are on the device, one or two. */
  int copies() {
    return second == NONE ? 1 : 2;
  }

  /** Whether a copy starts at this byte of the device. */
  boolean startsAt(long offset) {
    return offset >= RESERVED && (offset == first || offset == second);
  }
}
