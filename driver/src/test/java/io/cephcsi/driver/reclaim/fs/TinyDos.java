package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** A FAT12 and an exFAT file system and a swap area of some hundred sectors, made by hand. */
final class TinyDos {
  private static final int SECTOR = 512;

  private TinyDos() {}

  /**
   * FAT12 of 300 sectors: directories at clusters 2 and 3, a file at 4, 6 and 7; 5 is free, and all
   * from 8 on.
   */
  static byte[] fat() {
    byte[] bytes = new byte[300 * SECTOR];
    ByteBuffer disk = disk(bytes);
    disk.put(0, new byte[] {(byte) 0xEB, 0x3C, (byte) 0x90}).putShort(11, (short) SECTOR);
    disk.put(13, (byte) 1).putShort(14, (short) 1).put(16, (byte) 2).putShort(17, (short) 16);
    disk.putShort(19, (short) 300).put(21, (byte) 0xF8).putShort(22, (short) 1);
    disk.put(38, (byte) 0x29).put(54, bytes("FAT12   ")).putShort(510, (short) 0xAA55);
    byte[] table = {
      (byte) 0xF8,
      (byte) 0xFF,
      (byte) 0xFF,
      (byte) 0xFF,
      (byte) 0xFF,
      (byte) 0xFF,
      6,
      0,
      0,
      7,
      (byte) 0xF0,
      (byte) 0xFF
    };
    disk.put(SECTOR, table).put(2 * SECTOR, table);
    int root = 3 * SECTOR;
    entry(disk, root, "A          ", 0x10, 2, 0);
    entry(disk, root + 32, "B       TXT", 0x20, 4, 1100);
    int data = 4 * SECTOR;
    entry(disk, data, ".          ", 0x10, 2, 0);
    entry(disk, data + 32, "..         ", 0x10, 0, 0);
    entry(disk, data + 64, "C          ", 0x10, 3, 0);
    entry(disk, data + SECTOR, ".          ", 0x10, 3, 0);
    entry(disk, data + SECTOR + 32, "..         ", 0x10, 2, 0);
    return bytes;
  }

  private static void entry(
      ByteBuffer disk, int at, String name, int attributes, int cluster, int size) {
    disk.put(at, bytes(name)).put(at + 11, (byte) attributes);
    disk.putShort(at + 26, (short) cluster).putInt(at + 28, size);
  }

  /**
   * exFAT of 428 sectors: bitmap, up-case table and root directory at clusters 2 to 4, a file at 5
   * and 7 by the table, a directory at 8 that is in one piece; 6 is free, and all from 9 to 401.
   */
  static byte[] exfat() {
    byte[] bytes = new byte[428 * SECTOR];
    ByteBuffer disk = disk(bytes);
    disk.put(0, new byte[] {(byte) 0xEB, 0x76, (byte) 0x90}).put(3, bytes("EXFAT   "));
    disk.putLong(72, 428).putInt(80, 24).putInt(84, 4).putInt(88, 28).putInt(92, 400).putInt(96, 4);
    disk.putShort(104, (short) 0x100).put(108, (byte) 9).put(110, (byte) 1).put(112, (byte) 1);
    disk.putShort(510, (short) 0xAA55);
    for (int sector = 1; sector <= 8; sector++) {
      disk.putInt((sector + 1) * SECTOR - 4, 0xAA550000);
    }
    int[] table = {0xFFFFFFF8, -1, -1, -1, -1, 7, 0, -1, 0};
    for (int i = 0; i < table.length; i++) {
      disk.putInt(24 * SECTOR + 4 * i, table[i]);
    }
    int heap = 28 * SECTOR;
    disk.put(heap, (byte) 0x6F);
    int root = heap + 2 * SECTOR;
    disk.put(root, (byte) 0x81).putInt(root + 20, 2).putLong(root + 24, 50);
    disk.put(root + 32, (byte) 0x82).putInt(root + 52, 3).putLong(root + 56, 64);
    set(disk, root + 64, 0x20, 1, 5, 600);
    set(disk, root + 160, 0x10, 3, 8, SECTOR);
    try {
      Mutant mutant = new Mutant(new MemoryImage(bytes));
      DosBytes sums = new DosBytes(mutant);
      sums.forgeBoot(0, 0);
      sums.sumSet(root + 64);
      sums.sumSet(root + 160);
      mutant.peek(0, bytes.length).get(bytes);
      return bytes;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void set(
      ByteBuffer disk, int at, int attributes, int flags, int cluster, long length) {
    disk.put(at, (byte) 0x85).put(at + 1, (byte) 2).putShort(at + 4, (short) attributes);
    disk.put(at + 32, (byte) 0xC0).put(at + 33, (byte) flags).put(at + 35, (byte) 1);
    disk.putLong(at + 40, length).putInt(at + 52, cluster).putLong(at + 56, length);
    disk.put(at + 64, (byte) 0xC1).put(at + 66, (byte) 'x');
  }

  /** A swap area of 40 pages of 4 KiB. */
  static byte[] swap() {
    byte[] bytes = new byte[320 * SECTOR];
    ByteBuffer disk = disk(bytes);
    disk.putInt(1024, 1).putInt(1028, 39).put(4086, bytes("SWAPSPACE2"));
    return bytes;
  }

  private static ByteBuffer disk(byte[] bytes) {
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.ISO_8859_1);
  }
}
