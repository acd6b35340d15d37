package io.cephcsi.driver.reclaim.luks;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.driver.reclaim.fs.BlockReader;
import io.cephcsi.driver.reclaim.fs.RefusalReason;
import io.cephcsi.driver.volume.Json;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Arrays;

/**
 * Reads the header of LUKS2 (its on-disk format, version 1.1): a binary part and JSON, twice. It is
 * believed only if both copies have right checksums and say the same. After a crash between the two
 * writes they do not; cryptsetup mends that when it opens the device next.
 *
 * @param json what the header says
 * @param bytes of one copy
 */
record LuksHeader(JsonNode json, int bytes) {
  private static final int BINARY = 4096;
  private static final int SMALLEST = 16 << 10;
  private static final int LARGEST = 128 << 10; // with slots that no driver fills
  private static final int VERSION = 2;
  private static final int VERSION_AT = 6;
  private static final int SIZE_AT = 8;
  private static final int SEQUENCE_AT = 16;
  private static final int LABEL_AT = 24;
  private static final int ALGORITHM_AT = 72;
  private static final int ALGORITHM_BYTES = 32;
  private static final int OFFSET_AT = 256;
  private static final int CHECKSUM_AT = 448;
  private static final int CHECKSUM_BYTES = 64;
  private static final String FIRST = "LUKS\u00ba\u00be";
  private static final String SECOND = "SKUL\u00ba\u00be";

  /** Reads both copies. */
  static LuksHeader read(BlockReader device) throws IOException, LuksRefusal {
    byte[] start = bytes(device, 0, BINARY);
    if (!text(start, 0, FIRST.length()).equals(FIRST)) {
      throw LuksRefusal.unsupported("LUKS is not at the start of the device");
    }
    short version = ByteBuffer.wrap(start).getShort(VERSION_AT);
    if (version != VERSION) {
      throw LuksRefusal.unsupported("LUKS has the version " + version + ", not 2");
    }
    long size = ByteBuffer.wrap(start).getLong(SIZE_AT);
    LuksRefusal.require(
        size >= SMALLEST && Long.bitCount(size) == 1,
        "the header of LUKS has a size that none has");
    if (size > LARGEST) {
      throw LuksRefusal.unsupported("the header of LUKS is larger than " + LARGEST + " bytes");
    }
    byte[] first = copy(device, 0, (int) size, FIRST);
    byte[] second = copy(device, size, (int) size, SECOND);
    LuksRefusal.require(
        Arrays.equals(first, SEQUENCE_AT, LABEL_AT, second, SEQUENCE_AT, LABEL_AT)
            && Arrays.equals(first, BINARY, (int) size, second, BINARY, (int) size),
        "the two headers of LUKS differ: open the volume once");
    return new LuksHeader(json(first), (int) size);
  }

  private static byte[] copy(BlockReader device, long offset, int size, String magic)
      throws IOException, LuksRefusal {
    byte[] copy = bytes(device, offset, size);
    ByteBuffer fields = ByteBuffer.wrap(copy);
    LuksRefusal.require(
        text(copy, 0, magic.length()).equals(magic)
            && fields.getShort(VERSION_AT) == VERSION
            && fields.getLong(SIZE_AT) == size
            && fields.getLong(OFFSET_AT) == offset,
        "a header of LUKS is not whole: open the volume once");
    byte[] blanked = copy.clone();
    Arrays.fill(blanked, CHECKSUM_AT, CHECKSUM_AT + CHECKSUM_BYTES, (byte) 0);
    byte[] is = digest(text(copy, ALGORITHM_AT, ALGORITHM_BYTES)).digest(blanked);
    if (!Arrays.equals(is, 0, is.length, copy, CHECKSUM_AT, CHECKSUM_AT + is.length)) {
      throw new LuksRefusal(
          RefusalReason.BAD_CHECKSUM, "the checksum of a header of LUKS is wrong");
    }
    return copy;
  }

  private static MessageDigest digest(String algorithm) throws LuksRefusal {
    if (!algorithm.equals("sha256") && !algorithm.equals("sha512")) {
      throw LuksRefusal.unsupported("the header of LUKS has a checksum that is not SHA-2");
    }
    try {
      return MessageDigest.getInstance(algorithm.replace("sha", "SHA-"));
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("SHA-2 fails", e);
    }
  }

  private static JsonNode json(byte[] copy) throws LuksRefusal {
    int end = BINARY;
    while (end < copy.length && copy[end] != 0) {
      end++;
    }
    try {
      JsonNode json = Json.mapper().readTree(copy, BINARY, end - BINARY);
      LuksRefusal.require(json != null && json.isObject(), "the header of LUKS has no object");
      return json;
    } catch (IOException | StackOverflowError e) {
      throw LuksRefusal.inconsistent("the header of LUKS has no JSON");
    }
  }

  private static byte[] bytes(BlockReader device, long offset, int length)
      throws IOException, LuksRefusal {
    if (offset > device.size() - length) {
      throw new LuksRefusal(RefusalReason.TRUNCATED, "the device ends in the header of LUKS");
    }
    byte[] bytes = new byte[length];
    device.read(offset, ByteBuffer.wrap(bytes));
    return bytes;
  }

  /** Up to the first zero byte. */
  private static String text(byte[] from, int at, int most) {
    String all = new String(from, at, most, ISO_8859_1);
    int end = all.indexOf(0);
    return end < 0 ? all : all.substring(0, end);
  }
}
