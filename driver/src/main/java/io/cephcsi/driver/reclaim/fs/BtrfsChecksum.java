package io.cephcsi.driver.reclaim.fs;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.zip.CRC32C;

/** The checksum of superblocks and tree blocks: over all bytes after the 32 that hold it. */
enum BtrfsChecksum {
  CRC32C(4),
  SHA256(32);

  /** Bytes that every block reserves for its checksum. */
  static final int FIELD = 32;

  private final int size;

  BtrfsChecksum(int size) {
    this.size = size;
  }

  /** By the number in the superblock. */
  static BtrfsChecksum of(int type) {
    return switch (type) {
      case 0 -> CRC32C;
      case 2 -> SHA256;
      case 1 -> throw Refusal.unsupported("checksums of type xxhash64");
      case 3 -> throw Refusal.unsupported("checksums of type blake2b");
      default -> throw Refusal.unsupported("checksums of unknown type " + type);
    };
  }

  /** Whether a block has the right checksum. */
  boolean covers(BtrfsFields block) {
    ByteBuffer content = block.bytes().slice(FIELD, block.length() - FIELD);
    return ByteBuffer.wrap(of(content)).equals(block.bytes().slice(0, size));
  }

  /** The checksum of the bytes, as it is stored. */
  byte[] of(ByteBuffer content) {
    if (this == CRC32C) {
      CRC32C crc = new CRC32C();
      crc.update(content);
      int value = (int) crc.getValue();
      return new byte[] {
        (byte) value, (byte) (value >>> 8), (byte) (value >>> 16), (byte) (value >>> 24)
      };
    }
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      digest.update(content);
      return digest.digest();
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java runtime has SHA-256", e);
    }
  }
}
