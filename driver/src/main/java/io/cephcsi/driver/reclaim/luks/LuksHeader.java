package io.cephcsi.driver.reclaim.luks;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import io.cephcsi.driver.reclaim.fs.BlockReader;
import io.cephcsi.driver.reclaim.fs.RefusalReason;
import io.cephcsi.driver.volume.Json;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Optional;

/**
 * Reads the header of LUKS2 (its on-disk format, version 1.1): a binary part and JSON, twice. After
 * a crash between the two writes they differ; cryptsetup mends that when it opens the device next.
 *
 * <p>ceph-csi makes headers of 4 MiB, of which JSON takes some KiB. cryptsetup takes none with
 * anything but zeroes behind the JSON. So only what is before {@link #MOST_USED} is kept in memory:
 * a node opens many volumes at once.
 *
 * @param json what the header says
 * @param first the copy for the start of a device, but for zeroes at its end
 * @param bytes how long a copy is on the device
 * @param same whether both copies are on the device, and say the same
 */
@SuppressWarnings("ArrayRecordComponent") // not compared
record LuksHeader(JsonNode json, byte[] first, int bytes, boolean same) {
  private static final int BINARY = 4096;
  private static final int SMALLEST = 16 << 10;
  private static final int LARGEST = 4 << 20; // that cryptsetup makes, and takes
  private static final int MOST_USED = 128 << 10; // JSON of 32 slots has about 32 KiB
  private static final int CHUNK = 64 << 10;
  private static final int OLDER_VERSION = 1;
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

  /** Reads both copies, which must have right checksums and say the same. */
  static LuksHeader read(BlockReader device) throws IOException, LuksRefusal {
    byte[] first = copy(device, 0, size(device, 0, FIRST), FIRST);
    byte[] second = copy(device, size(first), size(first), SECOND);
    LuksRefusal.require(
        isSame(first, second), "the two headers of LUKS differ: open the volume once");
    return new LuksHeader(json(first), first, size(first), true);
  }

  /**
   * Reads the copy that cryptsetup goes by: of those that are whole the one that was written last.
   *
   * @throws LuksRefusal UNSUPPORTED_FEATURE for a header of another kind; another reason when no
   *     copy is whole
   */
  static LuksHeader newest(BlockReader device) throws IOException, LuksRefusal {
    Optional<byte[]> first = ifWhole(device, 0, FIRST);
    Optional<byte[]> second = Optional.empty();
    int least = first.map(LuksHeader::size).orElse(SMALLEST);
    int most = first.map(LuksHeader::size).orElse(LARGEST);
    for (int at = least; at <= most && second.isEmpty(); at *= 2) {
      second = ifWhole(device, at, SECOND).filter(copy -> offset(copy) == size(copy));
    }
    if (first.isPresent()
        && (second.isEmpty() || sequence(second.get()) <= sequence(first.get()))) {
      boolean same = second.isPresent() && isSame(first.get(), second.get());
      return new LuksHeader(json(first.get()), first.get(), size(first.get()), same);
    }
    if (second.isEmpty()) {
      throw LuksRefusal.inconsistent("there is no header of LUKS2 that is whole");
    }
    return new LuksHeader(
        json(second.get()), moved(second.get(), FIRST, 0), size(second.get()), false);
  }

  /** The same without what it says, which may take megabytes. */
  LuksHeader withoutJson() {
    return new LuksHeader(MissingNode.getInstance(), first, bytes, same);
  }

  /** The copy that belongs behind the first, but for zeroes at its end. */
  byte[] second() {
    return moved(first, SECOND, bytes);
  }

  private static byte[] moved(byte[] copy, String magic, long offset) {
    byte[] moved = copy.clone();
    System.arraycopy(magic.getBytes(ISO_8859_1), 0, moved, 0, magic.length());
    ByteBuffer.wrap(moved).putLong(OFFSET_AT, offset);
    try {
      byte[] checksum = checksum(moved);
      System.arraycopy(checksum, 0, moved, CHECKSUM_AT, checksum.length);
    } catch (LuksRefusal e) {
      throw new IllegalStateException("a header that was read has no known checksum", e);
    }
    return moved;
  }

  private static boolean isSame(byte[] first, byte[] second) {
    return Arrays.equals(first, SEQUENCE_AT, LABEL_AT, second, SEQUENCE_AT, LABEL_AT)
        && Arrays.equals(first, BINARY, first.length, second, BINARY, second.length);
  }

  private static long sequence(byte[] copy) {
    return ByteBuffer.wrap(copy).getLong(SEQUENCE_AT);
  }

  /** How long it is on the device, of a copy that was read. */
  private static int size(byte[] copy) {
    return (int) ByteBuffer.wrap(copy).getLong(SIZE_AT);
  }

  private static long offset(byte[] copy) {
    return ByteBuffer.wrap(copy).getLong(OFFSET_AT);
  }

  private static Optional<byte[]> ifWhole(BlockReader device, long offset, String magic)
      throws IOException, LuksRefusal {
    try {
      return Optional.of(copy(device, offset, size(device, offset, magic), magic));
    } catch (LuksRefusal e) {
      if (e.reason() == RefusalReason.UNSUPPORTED_FEATURE) {
        throw e;
      }
      return Optional.empty();
    }
  }

  /** How long a copy says that it is, in bytes. */
  private static int size(BlockReader device, long offset, String magic)
      throws IOException, LuksRefusal {
    byte[] start = bytes(device, offset, BINARY);
    LuksRefusal.require(
        text(start, 0, magic.length()).equals(magic), "LUKS is not at the start of the device");
    short version = ByteBuffer.wrap(start).getShort(VERSION_AT);
    if (version == OLDER_VERSION) {
      throw LuksRefusal.unsupported("LUKS has the version 1, not 2");
    }
    long size = ByteBuffer.wrap(start).getLong(SIZE_AT);
    LuksRefusal.require(
        version == VERSION && size >= SMALLEST && Long.bitCount(size) == 1,
        "the header of LUKS has a version or size that none has");
    if (size > LARGEST) {
      throw LuksRefusal.unsupported("the header of LUKS is larger than " + LARGEST + " bytes");
    }
    return (int) size;
  }

  private static byte[] copy(BlockReader device, long offset, int size, String magic)
      throws IOException, LuksRefusal {
    byte[] copy = bytes(device, offset, Math.min(size, MOST_USED));
    ByteBuffer fields = ByteBuffer.wrap(copy);
    LuksRefusal.require(
        text(copy, 0, magic.length()).equals(magic)
            && fields.getShort(VERSION_AT) == VERSION
            && fields.getLong(SIZE_AT) == size
            && fields.getLong(OFFSET_AT) == offset,
        "a header of LUKS is not whole: open the volume once");
    requireZeroes(device, offset + copy.length, offset + size);
    byte[] is = checksum(copy);
    if (!Arrays.equals(is, 0, is.length, copy, CHECKSUM_AT, CHECKSUM_AT + is.length)) {
      throw new LuksRefusal(
          RefusalReason.BAD_CHECKSUM, "the checksum of a header of LUKS is wrong");
    }
    return copy;
  }

  private static void requireZeroes(BlockReader device, long from, long to)
      throws IOException, LuksRefusal {
    byte[] zeroes = new byte[CHUNK];
    for (long at = from; at < to; at += CHUNK) {
      if (!Arrays.equals(bytes(device, at, CHUNK), zeroes)) {
        throw LuksRefusal.unsupported(
            "the header of LUKS uses more than its first " + MOST_USED + " bytes");
      }
    }
  }

  /** Of all of a copy, of which its own place counts as zeroes. */
  private static byte[] checksum(byte[] copy) throws LuksRefusal {
    MessageDigest digest = digest(text(copy, ALGORITHM_AT, ALGORITHM_BYTES));
    int behind = CHECKSUM_AT + CHECKSUM_BYTES;
    digest.update(copy, 0, CHECKSUM_AT);
    digest.update(new byte[CHECKSUM_BYTES]);
    digest.update(copy, behind, copy.length - behind);
    byte[] zeroes = new byte[CHUNK];
    for (int at = copy.length; at < size(copy); at += CHUNK) {
      digest.update(zeroes);
    }
    return digest.digest();
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
    for (int at = BINARY; at < end; at++) {
      boolean escapes = copy[at] == '\\' && (at + 1 == end || copy[at + 1] != '/');
      // cryptsetup ends names at a zero byte: what is escaped could be another name for it
      LuksRefusal.require(
          copy[at] > 0 && !escapes, "the header of LUKS has characters that none has");
    }
    try {
      JsonNode json =
          Json.mapper()
              .reader()
              .with(DeserializationFeature.FAIL_ON_READING_DUP_TREE_KEY)
              .with(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
              .readTree(copy, BINARY, end - BINARY);
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
