package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/** A device with some bytes changed, and perhaps cut off. */
final class Mutant implements BlockReader {
  private static final int SECTOR = 512;

  private final BlockReader original;
  private final TreeMap<Long, Byte> flips = new TreeMap<>();
  private long size;

  Mutant(BlockReader original) {
    this.original = original;
    this.size = original.size();
  }

  /** Changes the bits of a byte that are set in the mask. */
  Mutant flip(long offset, int mask) {
    flips.merge(offset, (byte) mask, (a, b) -> (byte) (a ^ b));
    return this;
  }

  /** The bytes as they are now. */
  ByteBuffer peek(long offset, int length) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(length);
    read(offset, bytes);
    return bytes.flip();
  }

  /** Puts other bytes in place. */
  Mutant patch(long offset, ByteBuffer bytes) throws IOException {
    ByteBuffer now = peek(offset, bytes.limit());
    for (int i = 0; i < bytes.limit(); i++) {
      if (now.get(i) != bytes.get(i)) {
        flip(offset + i, now.get(i) ^ bytes.get(i));
      }
    }
    return this;
  }

  /** Damages what was read: bits, bytes, a sector of zeroes, or one from elsewhere. */
  Mutant damage(List<ImageFile.Extent> read, Random random) throws IOException {
    ImageFile.Extent extent = read.get(random.nextInt(read.size()));
    long at = extent.offset() + random.nextInt(extent.length());
    return switch (random.nextInt(5)) {
      case 1 -> flip(at, 1 + random.nextInt(255));
      case 2 -> {
        for (int i = 0; i < 8; i++) {
          flip(extent.offset() + random.nextInt(extent.length()), random.nextInt(256));
        }
        yield this;
      }
      case 3 -> patch(at / SECTOR * SECTOR, ByteBuffer.allocate(SECTOR));
      case 4 -> {
        ImageFile.Extent other = read.get(random.nextInt(read.size()));
        yield patch(at / SECTOR * SECTOR, peek(other.offset() / SECTOR * SECTOR, SECTOR));
      }
      default -> flip(at, 1 << random.nextInt(8));
    };
  }

  /** Changes one bit of what was read. */
  Mutant damageBit(List<ImageFile.Extent> read, Random random) {
    ImageFile.Extent extent = read.get(random.nextInt(read.size()));
    return flip(extent.offset() + random.nextInt(extent.length()), 1 << random.nextInt(8));
  }

  Mutant cutTo(long newSize) {
    size = newSize;
    return this;
  }

  @Override
  public long size() {
    return size;
  }

  @Override
  public void read(long offset, ByteBuffer into) throws IOException {
    if (offset < 0 || offset + into.remaining() > size) {
      throw new AssertionError("a read outside of the device, at " + offset);
    }
    int start = into.position();
    long end = offset + into.remaining();
    original.read(offset, into);
    for (Map.Entry<Long, Byte> flip : flips.subMap(offset, end).entrySet()) {
      int at = start + (int) (flip.getKey() - offset);
      into.put(at, (byte) (into.get(at) ^ flip.getValue()));
    }
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder("flips");
    flips.forEach((at, mask) -> text.append(String.format(" %d:%02x", at, mask & 0xff)));
    return text.toString();
  }
}
