package io.cephcsi.driver.reclaim.fs;

/** What a device was found to hold. */
public enum FileSystemKind {
  EXT2("ext2"),
  EXT3("ext3"),
  EXT4("ext4"),
  XFS("XFS"),
  LUKS("LUKS encryption"),
  BTRFS("btrfs"),
  F2FS("F2FS"),
  LVM2("an LVM2 physical volume"),
  MD_RAID("an MD RAID member"),
  SWAP("swap space"),
  SQUASHFS("squashfs"),
  EROFS("EROFS"),
  NTFS("NTFS"),
  FAT("FAT"),
  EXFAT("exFAT"),
  ISO9660("ISO 9660"),
  BCACHEFS("bcache or bcachefs"),
  VERITY("hashes of dm-verity"),
  BLUESTORE("a BlueStore device"),
  OTHER("another file system or disk label"),
  MBR("an MBR partition table"),
  GPT("a GPT partition table"),
  BOOT("a boot loader"),
  BLANK("nothing"),
  UNKNOWN("nothing known");

  private final String label;

  FileSystemKind(String label) {
    this.label = label;
  }

  /**
   * Whether a system that has it mounted, and has written to it, leaves a mark in it: then it is
   * not clean, and refused by itself.
   */
  boolean hasMountMark() {
    return this == EXT2 || this == EXT3 || this == EXT4 || this == XFS;
  }

  /** Its name for people, fit for "the device holds ...". */
  public String label() {
    return label;
  }
}
