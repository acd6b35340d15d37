package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The label of an LVM2 physical volume, and the metadata areas that it names. All in bytes.
 *
 * @param id of the physical volume, 32 characters
 * @param size that LVM2 takes the device for
 * @param dataStart where the first extent starts
 * @param areas one or two with metadata
 */
record LvmLabel(String id, long size, long dataStart, List<LvmLabel.Area> areas) {
  /** What a byte of the text may take in memory when it is parsed. */
  private static final int PARSED = 24;

  private static final int SECTOR = 512;
  private static final int SECTORS = 4;
  private static final int CHECKED_FROM = 20;
  private static final int HEADER = 32;
  private static final int FIRST_REGISTER = 0xf597a6cf;
  private static final int LAST_VERSION = 2;
  private static final int USED = 1;

  /** End of the sectors in which a label may be. */
  static final int END = SECTORS * SECTOR;

  LvmLabel {
    areas = List.copyOf(areas);
  }

  /** A range of the device. */
  record Area(long offset, long length) {
    long end() {
      return offset + length;
    }

    boolean meets(long from, long to) {
      return offset < to && from < end();
    }
  }

  /**
   * @param device the physical volume
   * @throws Refusal if the label is not certain in all respects
   */
  static LvmLabel read(Device device) throws IOException {
    ByteBuffer sectors = device.read(0, END, ByteOrder.LITTLE_ENDIAN);
    ByteBuffer label = null;
    for (int i = 0; i < SECTORS; i++) {
      ByteBuffer sector = sectors.slice(i * SECTOR, SECTOR).order(ByteOrder.LITTLE_ENDIAN);
      if (has(sector, 0, "LABELONE")) {
        Refusal.require(label == null, "the physical volume has two labels");
        Refusal.require(sector.getLong(8) == i, "the label belongs to another sector");
        label = sector;
      }
    }
    if (label == null) {
      throw Refusal.inconsistent("the physical volume has no label");
    }
    if (checksum(label.slice(CHECKED_FROM, SECTOR - CHECKED_FROM)) != label.getInt(16)) {
      throw Refusal.checksum("the label of the physical volume");
    }
    if (label.getInt(20) != HEADER || !has(label, 24, "LVM2 001")) {
      throw Refusal.unsupported("a label of another kind of physical volume");
    }
    LvmLabel read = parse(label.position(HEADER));
    Refusal.require(
        read.size > 0 && read.size <= device.size(),
        "the physical volume is larger than its device");
    return read;
  }

  private static LvmLabel parse(ByteBuffer label) {
    byte[] id = new byte[32];
    label.get(id);
    long size = label.getLong();
    List<Area> data = areas(label);
    List<Area> metadata = areas(label);
    Refusal.require(
        data.size() == 1 && data.get(0).offset() >= END,
        "the physical volume has no single area of data");
    if (metadata.isEmpty() || metadata.size() > 2) {
      throw Refusal.unsupported("a physical volume with " + metadata.size() + " areas of metadata");
    }
    int version = label.getInt();
    if (version != 0) {
      int flags = label.getInt();
      boolean known = version > 0 && version <= LAST_VERSION && (flags & ~USED) == 0;
      if (!known || !areas(label).isEmpty()) {
        throw Refusal.unsupported("a physical volume with an unknown extension or a boot area");
      }
    }
    return new LvmLabel(
        new String(id, StandardCharsets.ISO_8859_1), size, data.get(0).offset(), metadata);
  }

  private static List<Area> areas(ByteBuffer label) {
    List<Area> areas = new ArrayList<>();
    while (true) {
      Refusal.require(label.remaining() >= 16, "the label of the physical volume has no end");
      Area area = new Area(label.getLong(), label.getLong());
      if (area.offset == 0) {
        Refusal.require(area.length == 0, "the physical volume has an area without a place");
        return areas;
      }
      areas.add(area);
    }
  }

  /**
   * Reads the volume group from all areas, which must say the same.
   *
   * @throws Refusal if the metadata is not certain, or what it says is not read here
   */
  LvmGroup group(Device device) throws IOException {
    Optional<LvmGroup> group = Optional.empty();
    for (int i = 0; i < areas.size(); i++) {
      Area area = areas.get(i);
      Refusal.require(
          area.offset >= END
              && area.length > LvmMetadata.HEADER
              && area.offset <= size - area.length
              && (i == 0 || !area.meets(areas.get(0).offset, areas.get(0).end())),
          "the physical volume has metadata at a wrong place");
      ByteBuffer text = LvmMetadata.read(device, area);
      device.memory().take((long) text.limit() * PARSED);
      LvmGroup read = LvmGroup.of(LvmText.parse(text), this);
      Refusal.require(
          group.isEmpty() || group.get().equals(read), "the copies of the metadata differ");
      group = Optional.of(read);
    }
    return group.orElseThrow();
  }

  /** LVM2's checksum of bytes that follow one another. */
  static int checksum(ByteBuffer... parts) {
    return Checksums.crc32(FIRST_REGISTER, parts);
  }

  static boolean has(ByteBuffer bytes, int at, String text) {
    ByteBuffer wanted = ByteBuffer.wrap(text.getBytes(StandardCharsets.ISO_8859_1));
    return bytes.slice(at, wanted.limit()).equals(wanted);
  }
}
