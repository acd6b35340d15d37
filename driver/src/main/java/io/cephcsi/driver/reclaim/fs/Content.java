package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * What a device, a partition or a logical volume holds by its signatures.
 *
 * @param start the first bytes, padded with zeros
 * @param kinds all whose signature is there; EXT4 stands for the whole family
 */
record Content(Device device, ByteBuffer start, Set<FileSystemKind> kinds) {

  static Content of(Device device) throws IOException {
    ByteBuffer start = readStart(device);
    return new Content(device, start, Signatures.find(device, start));
  }

  /** Whether it is this kind, and no other. */
  boolean is(FileSystemKind kind) {
    return kinds.equals(Set.of(kind));
  }

  /** Reads it as a file system; gives back what its tables took in memory. */
  Inspection inspect() throws IOException {
    long before = device.memory().taken();
    try {
      return inspectWhole();
    } finally {
      device.memory().giveAllBut(before);
    }
  }

  private Inspection inspectWhole() throws IOException {
    if (kinds.size() > 1) {
      String labels = kinds.stream().map(FileSystemKind::label).collect(Collectors.joining(", "));
      return new Inspection.Refused(
          FileSystemKind.UNKNOWN,
          RefusalReason.AMBIGUOUS_CONTENT,
          "the device has signatures of " + labels);
    }
    if (kinds.isEmpty()) {
      return nothingKnown();
    }
    FileSystemKind kind = kinds.iterator().next();
    try {
      return switch (kind) {
        case EXT4 -> inspectExt();
        case XFS -> XfsReader.read(device, start);
        case NTFS -> NtfsReader.read(device, start);
        case BTRFS -> BtrfsReader.read(device);
        case FAT -> FatReader.read(device, start);
        case EXFAT -> ExfatReader.read(device, start);
        case SWAP -> SwapReader.read(device, start);
        default -> refused(kind);
      };
    } catch (Refusal refusal) {
      return refusal.of(kind);
    }
  }

  private Inspection inspectExt() throws IOException {
    ByteBuffer bytes = start.slice(ExtSuperblock.OFFSET, ExtSuperblock.SIZE);
    ExtSuperblock superblock = new ExtSuperblock(bytes.order(ByteOrder.LITTLE_ENDIAN));
    try {
      return ExtReader.read(device, superblock);
    } catch (Refusal refusal) {
      return refusal.of(superblock.features().kind());
    }
  }

  private static Inspection refused(FileSystemKind kind) {
    RefusalReason reason =
        switch (kind) {
          case LUKS -> RefusalReason.ENCRYPTED;
          case MBR, GPT -> RefusalReason.UNSUPPORTED_PARTITIONS;
          default -> RefusalReason.UNSUPPORTED_CONTENT;
        };
    return new Inspection.Refused(kind, reason, "the device holds " + kind.label());
  }

  private Inspection nothingKnown() {
    boolean blank = start.mismatch(ByteBuffer.allocate(start.limit())) < 0;
    FileSystemKind kind = blank ? FileSystemKind.BLANK : FileSystemKind.UNKNOWN;
    return new Inspection.Refused(
        kind,
        RefusalReason.NO_FILE_SYSTEM,
        blank ? "the device starts with zeros" : "no known file system was found");
  }

  private static ByteBuffer readStart(Device device) throws IOException {
    int length = (int) Math.min(Signatures.START, device.size());
    ByteBuffer start = ByteBuffer.allocate(Signatures.START).order(ByteOrder.LITTLE_ENDIAN);
    return start.put(0, device.read(0, length, ByteOrder.LITTLE_ENDIAN), 0, length);
  }
}
