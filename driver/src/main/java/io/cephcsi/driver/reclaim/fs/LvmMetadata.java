package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** An area of LVM2 metadata: a header, and texts in a ring behind it, of which one is current. */
final class LvmMetadata {
  /** Bytes of the header. */
  static final int HEADER = 512;

  private static final String MAGIC = " LVM2 x[5A%r0N*>";
  private static final int LOCATIONS = 40;
  private static final int LOCATION = 24;

  private LvmMetadata() {}

  /**
   * Returns the current text.
   *
   * @throws Refusal if header or text are damaged, or another text waits to become current
   */
  static ByteBuffer read(Device device, LvmLabel.Area area) throws IOException {
    ByteBuffer header = device.read(area.offset(), HEADER, ByteOrder.LITTLE_ENDIAN);
    if (LvmLabel.checksum(header.slice(4, HEADER - 4)) != header.getInt(0)) {
      throw Refusal.checksum("the header of LVM2 metadata");
    }
    if (!LvmLabel.has(header, 4, MAGIC) || header.getInt(20) != 1) {
      throw Refusal.unsupported("LVM2 metadata of another version");
    }
    Refusal.require(
        header.getLong(24) == area.offset() && header.getLong(32) == area.length(),
        "the header of LVM2 metadata belongs elsewhere");
    long offset = header.getLong(LOCATIONS);
    long length = header.getLong(LOCATIONS + 8);
    if (offset == 0 && length == 0) {
      throw new Refusal(
          RefusalReason.UNSUPPORTED_CONTENT, "the physical volume is in no volume group");
    }
    Refusal.require(header.getInt(LOCATIONS + 20) == 0, "LVM2 metadata with flags");
    for (int at = LOCATIONS + LOCATION; at < HEADER; at += 8) {
      Refusal.require(header.getLong(at) == 0, "a change of the LVM2 metadata was not finished");
    }
    Refusal.require(
        offset >= HEADER
            && offset < area.length()
            && length > 0
            && length <= Math.min(area.length() - HEADER, LvmText.LONGEST),
        "LVM2 metadata out of its area");
    int head = (int) Math.min(length, area.length() - offset);
    ByteBuffer text = ByteBuffer.allocate((int) length);
    text.put(device.read(area.offset() + offset, head, ByteOrder.LITTLE_ENDIAN));
    if (text.hasRemaining()) {
      int rest = text.remaining();
      text.put(device.read(area.offset() + HEADER, rest, ByteOrder.LITTLE_ENDIAN));
    }
    text.flip();
    if (LvmLabel.checksum(text) != header.getInt(LOCATIONS + 16)) {
      throw Refusal.checksum("LVM2 metadata");
    }
    return text;
  }
}
