package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Finds the file system on a device and, when it is certain in all respects, its free ranges.
 *
 * <p>Understood are ext2, ext3, ext4, XFS version 4 and 5, NTFS 3.1, btrfs on a single device,
 * FAT12, FAT16, FAT32, exFAT and Linux swap areas, directly on the device or in the one partition
 * of a GPT. All metadata that the answer depends on is read once, checked against its checksums and
 * against every counter that says the same in another way, and the ranges are kept in memory (32
 * MiB at most): a caller never sees a range of a file system that fails a later check.
 *
 * <p>The content must not change meanwhile: the caller holds the image's lock, and took it before
 * the inspection. Btrfs that is mounted, and XFS that is mounted but was not written to, look
 * unmounted; only the lock and the image's watchers tell. What cannot be seen at all is listed in
 * {@code docs/decisions/free-space-readers.md}.
 */
public final class FileSystems {
  private FileSystems() {}

  /**
   * Inspects a device. Blocks for as long as the reads take; thread-safe as far as the reader is.
   *
   * @return the free ranges of a clean file system, or why there are none
   * @throws IOException if the device cannot be read; nothing is known then
   */
  public static Inspection inspect(BlockReader reader) throws IOException {
    return inspect(new Device(reader), true);
  }

  private static Inspection inspect(Device device, boolean whole) throws IOException {
    ByteBuffer start = readStart(device);
    Set<FileSystemKind> found = Signatures.find(device, start);
    if (found.size() > 1) {
      String labels = found.stream().map(FileSystemKind::label).collect(Collectors.joining(", "));
      return new Inspection.Refused(
          FileSystemKind.UNKNOWN,
          RefusalReason.AMBIGUOUS_CONTENT,
          "the device has signatures of " + labels);
    }
    if (found.isEmpty()) {
      return nothingKnown(start);
    }
    FileSystemKind kind = found.iterator().next();
    try {
      return switch (kind) {
        case EXT4 -> inspectExt(device, start);
        case XFS -> XfsReader.read(device, start);
        case NTFS -> NtfsReader.read(device, start);
        case BTRFS -> BtrfsReader.read(device);
        case FAT -> FatReader.read(device, start);
        case EXFAT -> ExfatReader.read(device, start);
        case SWAP -> SwapReader.read(device, start);
        case GPT -> inspectPartition(device, start, whole);
        default -> refused(kind);
      };
    } catch (Refusal refusal) {
      return refusal.of(kind);
    }
  }

  private static Inspection inspectExt(Device device, ByteBuffer start) throws IOException {
    ByteBuffer bytes = start.slice(ExtSuperblock.OFFSET, ExtSuperblock.SIZE);
    ExtSuperblock superblock = new ExtSuperblock(bytes.order(ByteOrder.LITTLE_ENDIAN));
    try {
      return ExtReader.read(device, superblock);
    } catch (Refusal refusal) {
      return refusal.of(superblock.features().kind());
    }
  }

  private static Inspection inspectPartition(Device device, ByteBuffer start, boolean whole)
      throws IOException {
    if (!whole) {
      throw new Refusal(
          RefusalReason.UNSUPPORTED_PARTITIONS, "the partition holds a partition table");
    }
    return inspect(GuidPartitionTable.onlyPartition(device, start), false);
  }

  private static Inspection refused(FileSystemKind kind) {
    RefusalReason reason =
        switch (kind) {
          case LUKS -> RefusalReason.ENCRYPTED;
          case MBR -> RefusalReason.UNSUPPORTED_PARTITIONS;
          default -> RefusalReason.UNSUPPORTED_CONTENT;
        };
    return new Inspection.Refused(kind, reason, "the device holds " + kind.label());
  }

  private static Inspection nothingKnown(ByteBuffer start) {
    boolean blank = start.mismatch(ByteBuffer.allocate(start.limit())) < 0;
    FileSystemKind kind = blank ? FileSystemKind.BLANK : FileSystemKind.UNKNOWN;
    return new Inspection.Refused(
        kind,
        RefusalReason.NO_FILE_SYSTEM,
        blank ? "the device starts with zeros" : "no known file system was found");
  }

  /** The first bytes of the device, padded with zeros when it is smaller. */
  private static ByteBuffer readStart(Device device) throws IOException {
    int length = (int) Math.min(Signatures.START, device.size());
    ByteBuffer start = ByteBuffer.allocate(Signatures.START).order(ByteOrder.LITTLE_ENDIAN);
    return start.put(0, device.read(0, length, ByteOrder.LITTLE_ENDIAN), 0, length);
  }
}
