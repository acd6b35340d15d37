package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/** Where the metadata of an NTFS volume is, for tests that change it. */
final class NtfsLayout {
  static final int VOLUME = 3;
  static final int LOG = 2;
  static final int BITMAP = 6;

  final NtfsBoot boot;
  private final Device device;

  NtfsLayout(BlockReader image) throws IOException {
    device = new Device(image, InspectionMemory.of(() -> false));
    boot = NtfsBoot.read(device, device.read(0, 4096, ByteOrder.LITTLE_ENDIAN));
  }

  /** Offset of one of the first 16 records. */
  long record(long number) {
    return boot.tableCluster * boot.clusterSize + number * boot.recordSize;
  }

  /** Offset of the first byte of the data of one of the first 16 records. */
  long data(long number) throws IOException {
    for (NtfsAttribute attribute : attributes(number)) {
      if (attribute.type() == NtfsAttribute.DATA && !attribute.named()) {
        return attribute.runs(boot.clusters).cluster(0) * boot.clusterSize;
      }
    }
    throw new AssertionError("record " + number + " has no data");
  }

  /** Offset of the flags of the volume; the version is before them. */
  long volumeFlags() throws IOException {
    ByteBuffer bytes = device.read(record(VOLUME), boot.recordSize, ByteOrder.LITTLE_ENDIAN);
    int at = bytes.getShort(0x14);
    while (bytes.getInt(at) != NtfsAttribute.VOLUME_INFORMATION) {
      at += bytes.getInt(at + 4);
    }
    return record(VOLUME) + at + bytes.getShort(at + 0x14) + 10;
  }

  private List<NtfsAttribute> attributes(long number) throws IOException {
    ByteBuffer bytes = device.read(record(number), boot.recordSize, ByteOrder.LITTLE_ENDIAN);
    return new NtfsRecord(bytes, number).attributes();
  }

  /** Offsets of all records in use. */
  List<Long> recordsInUse() throws IOException {
    List<Long> offsets = new ArrayList<>();
    for (NtfsAttribute attribute : attributes(0)) {
      if (attribute.type() == NtfsAttribute.DATA) {
        NtfsRuns runs = attribute.runs(boot.clusters);
        for (int run = 0; run < runs.count(); run++) {
          long end = (runs.cluster(run) + runs.length(run)) * boot.clusterSize;
          long at = runs.cluster(run) * boot.clusterSize;
          for (; at + boot.recordSize <= end; at += boot.recordSize) {
            ByteBuffer bytes = device.read(at, boot.recordSize, ByteOrder.LITTLE_ENDIAN);
            if (NtfsRecord.inUse(bytes, 0)) {
              offsets.add(at);
            }
          }
        }
      }
    }
    return offsets;
  }

  /** Two restart pages of a log, as Windows writes them, that say the same. */
  static ByteBuffer restartPages(int major, int minor, int clientsInUse, int flags) {
    ByteBuffer pages = ByteBuffer.allocate(128 << 10).order(ByteOrder.LITTLE_ENDIAN);
    for (int page = 0; page < 2; page++) {
      int at = page * 4096;
      pages.putInt(at, 0x52545352).putShort(at + 4, (short) 0x1E).putShort(at + 6, (short) 9);
      pages.putInt(at + 0x10, 4096).putInt(at + 0x14, 4096).putShort(at + 0x18, (short) 0x30);
      pages.putShort(at + 0x1A, (short) minor).putShort(at + 0x1C, (short) major);
      pages.putShort(at + 0x1E, (short) 7);
      for (int stride = 1; stride <= 8; stride++) {
        pages.putShort(at + stride * 512 - 2, (short) 7);
      }
      int area = at + 0x30;
      pages.putLong(area, 1_000_000).putShort(area + 8, (short) 1).putShort(area + 10, (short) -1);
      pages.putShort(area + 12, (short) clientsInUse).putShort(area + 14, (short) flags);
    }
    return pages;
  }
}
