package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/** The files that hold the metadata of NTFS, and what they say of the volume's state. */
final class NtfsFiles {
  private static final int TABLE = 0;
  private static final int MIRROR = 1;
  private static final int LOG = 2;
  private static final int VOLUME = 3;
  private static final int BITMAP = 6;
  private static final int BOOT = 7;

  final NtfsStream table;
  final NtfsStream tableBitmap;
  final NtfsStream bitmap;
  private final NtfsStream mirror;
  private final NtfsStream log;
  private final NtfsStream bootFile;
  private final NtfsBoot boot;
  private @Nullable ByteBuffer volume;

  NtfsFiles(Device device, NtfsBoot boot) {
    this.boot = boot;
    table = new NtfsStream(device, boot, "$MFT");
    tableBitmap = new NtfsStream(device, boot, "the bitmap of $MFT");
    bitmap = new NtfsStream(device, boot, "$Bitmap");
    mirror = new NtfsStream(device, boot, "$MFTMirr");
    log = new NtfsStream(device, boot, "$LogFile");
    bootFile = new NtfsStream(device, boot, "$Boot");
  }

  /** Notes an attribute that is stored outside of its record. */
  void add(long file, NtfsAttribute part, NtfsRuns runs) {
    if (file > BOOT || part.named()) {
      return;
    }
    NtfsStream stream = stream((int) file, part.type());
    if (stream != null) {
      stream.add(part, runs);
    }
  }

  private @Nullable NtfsStream stream(int file, int type) {
    if (file == TABLE && type == NtfsAttribute.BITMAP) {
      return tableBitmap;
    }
    if (type != NtfsAttribute.DATA) {
      return null;
    }
    return switch (file) {
      case TABLE -> table;
      case MIRROR -> mirror;
      case LOG -> log;
      case BITMAP -> bitmap;
      case BOOT -> bootFile;
      default -> null;
    };
  }

  /** Notes an attribute that is stored in its record. */
  void add(long file, NtfsAttribute attribute) {
    if (file == VOLUME && attribute.type() == NtfsAttribute.VOLUME_INFORMATION) {
      Refusal.require(volume == null, "$Volume is described twice");
      volume = attribute.value();
    }
  }

  /** Refuses unless the volume was unmounted cleanly. Called when the first records were read. */
  void checkClean() throws IOException {
    ByteBuffer information = volume;
    if (information == null || information.limit() < 12) {
      throw Refusal.inconsistent("$Volume has no description");
    }
    int major = information.get(8) & 0xff;
    int minor = information.get(9) & 0xff;
    if (major != 3 || minor != 1) {
      throw Refusal.unsupported("NTFS of version " + major + "." + minor);
    }
    int flags = information.getShort(10) & 0xffff;
    if (flags != 0) {
      throw new Refusal(
          RefusalReason.NOT_CLEAN,
          "the volume has flags 0x"
              + Integer.toHexString(flags)
              + ": Windows has work to do on it");
    }
    NtfsLog.checkClean(log);
  }

  /** Refuses unless the metadata files are where the boot sector says, and agree. */
  void check() throws IOException {
    table.complete();
    tableBitmap.complete();
    bitmap.complete();
    log.complete();
    Refusal.require(table.start() == boot.tableCluster, "$MFT is not where the boot sector says");
    Refusal.require(
        mirror.complete().start() == boot.mirrorCluster,
        "$MFTMirr is not where the boot sector says");
    Refusal.require(bootFile.complete().start() == 0, "$Boot does not start at cluster 0");
    for (int i = 0; i < 4; i++) {
      long at = (long) i * boot.recordSize;
      NtfsRecord record = new NtfsRecord(table.read(at, boot.recordSize), i);
      NtfsRecord copy = new NtfsRecord(mirror.read(at, boot.recordSize), i);
      Refusal.require(record.sameAs(copy), "$MFT and $MFTMirr differ");
    }
  }
}
