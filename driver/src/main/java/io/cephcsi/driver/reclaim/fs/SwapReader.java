package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Lists all pages of a Linux swap area but the first.
 *
 * <p>The header is all that swapon reads: what was swapped out belongs to the kernel that did it,
 * and is lost to everybody when that kernel ends or the area is turned off. The caller holds the
 * image's exclusive lock and nobody has the image open, so the area is not in use. A hibernated
 * system is the exception, and it puts another signature in place of that of swap. Nothing else may
 * be there, because the signature alone does not prove that the area was not given to something
 * which leaves the first page as it is.
 */
final class SwapReader {
  private static final int[] PAGE_SIZES = {4096, 8192, 16384, 32768, 65536};
  private static final int MAGIC_LENGTH = 10;
  private static final int HEADER = 1024;
  private static final int HEADER_END = HEADER + 44;
  private static final int FEWEST_PAGES = 10;

  /** What hibernation writes over the signature of swap, in its several versions. */
  private static final String[] HIBERNATED = {
    "S1SUSPEND", "S2SUSPEND", "ULSUSPEND", "LINHIB0001", "\u00ed\u00c3\u0002\u00e9\u0098V\u00e5\f"
  };

  /** The second header of LUKS2. */
  private static final List<Magic> OTHERS =
      List.of(
          new Magic(0x4000, "SKUL\u00ba\u00be"),
          new Magic(0x8000, "SKUL\u00ba\u00be"),
          new Magic(0x10000, "SKUL\u00ba\u00be"));

  /** A text (one character for each byte) at a place. */
  private record Magic(int at, String text) {}

  private SwapReader() {}

  /** Whether a signature of swap or of a hibernated system is there. */
  static boolean looksLikeOne(ByteBuffer start) {
    for (int page : PAGE_SIZES) {
      int at = page - MAGIC_LENGTH;
      if (has(start, at, "SWAPSPACE2") || has(start, at, "SWAP-SPACE") || hibernated(start, at)) {
        return true;
      }
    }
    return false;
  }

  /**
   * @param start the first 128 KiB of the device, little-endian
   * @throws Refusal if the area is not known in all its parts, or holds a hibernated system
   */
  static Inspection.Clean read(Device device, ByteBuffer start) throws IOException {
    int page = pageSize(start);
    checkHeader(start, page);
    checkOthers(device, start);
    long last = start.getInt(HEADER + 4) & 0xffffffffL;
    Refusal.require(last + 1 >= FEWEST_PAGES, "the swap area has no pages");
    long length = (last + 1) * page;
    if (length > device.size()) {
      throw new Refusal(
          RefusalReason.TRUNCATED,
          "a swap area of " + length + " bytes on a device of " + device.size());
    }
    RangePlan plan = new RangePlan(device, 0, page);
    plan.add(1, last);
    return new Inspection.Clean(FileSystemKind.SWAP, page, length, plan.finish());
  }

  private static int pageSize(ByteBuffer start) {
    int found = 0;
    for (int page : PAGE_SIZES) {
      int at = page - MAGIC_LENGTH;
      if (hibernated(start, at)) {
        throw new Refusal(RefusalReason.IN_USE, "the swap area holds a hibernated system");
      }
      if (has(start, at, "SWAP-SPACE")) {
        throw Refusal.unsupported("a swap area of version 0");
      }
      if (has(start, at, "SWAPSPACE2")) {
        Refusal.require(found == 0, "a swap area with two page sizes");
        found = page;
      }
    }
    Refusal.require(found != 0, "a swap area without a signature");
    return found;
  }

  private static void checkHeader(ByteBuffer start, int page) {
    if (start.getInt(HEADER) != 1) {
      throw Refusal.unsupported("a swap area of another version or byte order");
    }
    if (start.getInt(HEADER + 8) != 0) {
      throw Refusal.unsupported("a swap area with bad pages");
    }
    boolean zero = true;
    for (int at = 0; at < page - MAGIC_LENGTH; at++) {
      zero &= start.get(at) == 0 || (at >= HEADER && at < HEADER_END);
    }
    Refusal.require(zero, "the first page has more than the header of a swap area");
  }

  private static void checkOthers(Device device, ByteBuffer start) throws IOException {
    boolean other = false;
    for (Magic magic : OTHERS) {
      other |= has(start, magic.at, magic.text);
    }
    for (int sector = 512; sector <= 4096; sector *= 8) {
      long at = device.size() - sector;
      if (at >= 0) {
        other |= has(device.read(at, 8, ByteOrder.LITTLE_ENDIAN), 0, "EFI PART");
      }
    }
    if (other) {
      throw new Refusal(
          RefusalReason.AMBIGUOUS_CONTENT, "a swap area that has signatures of another format");
    }
  }

  private static boolean hibernated(ByteBuffer start, int at) {
    for (String signature : HIBERNATED) {
      if (has(start, at, signature)) {
        return true;
      }
    }
    return false;
  }

  private static boolean has(ByteBuffer bytes, int at, String text) {
    return bytes
            .slice(at, text.length())
            .mismatch(ByteBuffer.wrap(text.getBytes(StandardCharsets.ISO_8859_1)))
        < 0;
  }
}
