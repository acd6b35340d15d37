package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

/** Walks over all records of the file table and notes which clusters their files use. */
final class NtfsTable {
  private static final int PIECE = 1 << 20;
  private static final int BITMAP_PIECE = 64 << 10;

  /** Records for metadata; only from here on flags and bitmap must agree on what is in use. */
  private static final int FIRST_FILE = 24;

  private static final int FIRST_RECORDS = 16;
  private static final long MOST_BYTES = 16L << 30;

  private final NtfsBoot boot;
  private final InspectionMemory memory;
  private final NtfsFiles files;
  private final NtfsWindows windows;
  private final NtfsTally tally = new NtfsTally();
  private final NtfsBits clusters;

  NtfsTable(Device device, NtfsBoot boot, NtfsFiles files) {
    this.boot = boot;
    this.memory = device.memory();
    this.files = files;
    this.windows = new NtfsWindows(device, boot);
    this.clusters = new NtfsBits(boot.clusters, "cluster", memory);
  }

  /** Returns the clusters that files use. */
  NtfsBits walk(ByteBuffer first) throws IOException {
    if (!NtfsRecord.inUse(first, 0)) {
      throw Refusal.inconsistent("$MFT does not start with its own record");
    }
    // Only where the table is; its record is looked at again with all others.
    for (NtfsAttribute part : new NtfsRecord(first, 0).attributes()) {
      if (!part.resident()) {
        files.add(0, part, part.runs(boot.clusters));
      }
    }
    NtfsStream table = files.table;
    long records = table.initialized() / boot.recordSize;
    if (table.initialized() > MOST_BYTES) {
      throw Refusal.unsupported("a file table of " + table.initialized() + " bytes");
    }
    Refusal.require(records >= FIRST_RECORDS, "$MFT is too short");
    NtfsBits inUse = new NtfsBits(records, "record", memory);
    read(0, FIRST_RECORDS, inUse);
    files.checkClean();
    int piece = PIECE / boot.recordSize;
    for (long at = FIRST_RECORDS; at < records; at += piece) {
      read(at, (int) Math.min(piece, records - at), inUse);
    }
    tally.check();
    checkBitmap(inUse, records);
    return clusters;
  }

  private void read(long from, int count, NtfsBits inUse) throws IOException {
    ByteBuffer piece = files.table.read(from * boot.recordSize, count * boot.recordSize);
    for (int i = 0; i < count; i++) {
      ByteBuffer bytes = piece.slice(i * boot.recordSize, boot.recordSize);
      if (NtfsRecord.inUse(bytes.order(ByteOrder.LITTLE_ENDIAN), from + i)) {
        inUse.add(from + i, 1);
        add(new NtfsRecord(bytes, from + i));
      }
    }
  }

  private void add(NtfsRecord record) throws IOException {
    List<NtfsAttribute> attributes = record.attributes();
    long base = record.base();
    for (NtfsAttribute part : attributes) {
      if (part.resident()) {
        files.add(base, part);
        continue;
      }
      NtfsRuns runs = part.runs(boot.clusters);
      tally.add(part, base, boot.clusterSize);
      if (record.number() != 0) {
        files.add(base, part, runs);
      }
      for (int i = 0; i < runs.count(); i++) {
        if (runs.cluster(i) != NtfsRuns.HOLE) {
          clusters.add(runs.cluster(i), runs.length(i));
        }
      }
    }
    windows.check(record, attributes);
  }

  /** The bitmap of the table must say the same of each record as the record itself. */
  private void checkBitmap(NtfsBits inUse, long records) throws IOException {
    NtfsStream bitmap = files.tableBitmap.complete();
    Refusal.require(bitmap.initialized() >= (records + 7) / 8, "the bitmap of $MFT is too short");
    for (long at = 0; at * 64 < records; at += BITMAP_PIECE / 8) {
      int length = (int) Math.min(BITMAP_PIECE, bitmap.initialized() - at * 8);
      ByteBuffer piece = bitmap.read(at * 8, length);
      for (int i = 0; i < length; i++) {
        long first = at * 64 + i * 8L;
        int found = piece.get(i) & 0xff;
        int expected = (int) (inUse.word(first / 64) >>> (first % 64)) & 0xff;
        Refusal.require(
            first < FIRST_FILE || found == expected,
            "records from " + first + " on are in use by $MFT or by its bitmap only");
      }
    }
  }
}
