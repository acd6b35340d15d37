package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * An LVM2 physical volume made by hand, of extents of 4 KiB. Its logical volumes, one behind the
 * other from extent 2 on: "fat" in one piece, "exfat" in two pieces that lie the wrong way round,
 * and "swap" in two stripes of 8 KiB with one extent between them.
 */
final class TinyLvm {
  static final int EXTENT = 4096;
  static final int DATA = 128 << 10;
  static final int METADATA = 4096;
  static final int METADATA_SIZE = 56 << 10;
  static final int SECOND_METADATA = 64 << 10;
  private static final int LABEL = 512;
  private static final String ID = "abcdefghijklmnopqrstuvwxyz012345";
  private static final byte[][] CONTENTS = {TinyDos.fat(), TinyDos.exfat(), TinyDos.swap()};

  /** Where the pieces of each volume start, and how many extents they have. */
  private static final int[][][] PIECES = {{{2, 38}}, {{70, 30}, {41, 24}}, {{100, 20}, {121, 20}}};

  private static final int STRIPE = 2;

  static final int EXTENTS = 150;

  final byte[] bytes = new byte[DATA + EXTENTS * EXTENT + 2048];
  final List<FreeRange> free = new ArrayList<>();
  private final ByteBuffer disk = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);

  /** With one area of metadata. */
  TinyLvm() throws IOException {
    this(text(), METADATA, 512);
  }

  /**
   * @param texts of the metadata areas, one or two
   */
  TinyLvm(List<String> texts) throws IOException {
    this(texts.get(0), METADATA, 512);
    if (texts.size() > 1) {
      metadata(texts.get(1), SECOND_METADATA, 512);
      label(2);
    }
  }

  /** With the text at a place of the ring. */
  TinyLvm(String text, int offset) throws IOException {
    this(text, METADATA, offset);
  }

  private TinyLvm(String text, int area, int offset) throws IOException {
    label(1);
    metadata(text, area, offset);
    boolean[] unused = new boolean[bytes.length];
    for (int volume = 0; volume < CONTENTS.length; volume++) {
      boolean[] ofContent = freeBytes(CONTENTS[volume]);
      for (int i = 0; i < CONTENTS[volume].length; i++) {
        int at = DATA + at(volume, i);
        bytes[at] = CONTENTS[volume][i];
        unused[at] = ofContent[i];
      }
    }
    collect(unused);
  }

  private static boolean[] freeBytes(byte[] content) throws IOException {
    boolean[] free = new boolean[content.length];
    Inspection.Clean clean = (Inspection.Clean) FileSystems.inspect(new MemoryImage(content));
    clean.freeRanges(range -> Arrays.fill(free, (int) range.offset(), (int) range.end(), true));
    return free;
  }

  /** Where a byte of a volume lies in the extents. */
  private static int at(int volume, int i) {
    int[][] pieces = PIECES[volume];
    if (volume == 2) {
      int chunk = i / (STRIPE * EXTENT);
      return pieces[chunk % 2][0] * EXTENT + chunk / 2 * STRIPE * EXTENT + i % (STRIPE * EXTENT);
    }
    int first = pieces[0][1] * EXTENT;
    return i < first ? pieces[0][0] * EXTENT + i : pieces[1][0] * EXTENT + i - first;
  }

  private void collect(boolean[] unused) {
    for (int from = 0; from < unused.length; ) {
      int to = from;
      while (to < unused.length && unused[to]) {
        to++;
      }
      if (to > from) {
        free.add(new FreeRange(from, to - from));
      }
      from = to + 1;
    }
  }

  /** Writes the label, which names one or two areas. */
  void label(int areas) {
    disk.put(LABEL, ascii("LABELONE")).putLong(LABEL + 8, 1).putInt(LABEL + 20, 32);
    disk.put(LABEL + 24, ascii("LVM2 001")).put(LABEL + 32, ascii(ID));
    disk.putLong(LABEL + 64, bytes.length).putLong(LABEL + 72, DATA);
    int at = LABEL + 104;
    disk.putLong(at, METADATA).putLong(at + 8, METADATA_SIZE);
    if (areas == 2) {
      at += 16;
      disk.putLong(at, SECOND_METADATA).putLong(at + 8, METADATA_SIZE);
    }
    disk.putLong(at + 16, 0).putLong(at + 24, 0);
    disk.putInt(at + 32, 2).putInt(at + 36, 1).putLong(at + 40, 0).putLong(at + 48, 0);
    sumLabel();
  }

  /** Fills the label with areas up to its end. */
  void fillLabel() {
    for (int at = LABEL + 104; at < LABEL + 512; at += 8) {
      disk.putLong(at, METADATA);
    }
  }

  /** Makes the label's checksum right. */
  TinyLvm sumLabel() {
    disk.putInt(LABEL + 16, LvmLabel.checksum(disk.slice(LABEL + 20, 492)));
    return this;
  }

  /** Writes an area with its header. */
  void metadata(String text, int area, int offset) {
    byte[] all = ascii(text + "\0");
    disk.put(area + 4, ascii(" LVM2 x[5A%r0N*>")).putInt(area + 20, 1);
    disk.putLong(area + 24, area).putLong(area + 32, METADATA_SIZE);
    disk.putLong(area + 40, offset).putLong(area + 48, all.length);
    disk.putInt(area + 56, LvmLabel.checksum(ByteBuffer.wrap(all)));
    int head = Math.min(all.length, METADATA_SIZE - offset);
    disk.put(area + offset, all, 0, head).put(area + 512, all, head, all.length - head);
    sumHeader(area);
  }

  /** Makes the checksum of a header right. */
  TinyLvm sumHeader(int area) {
    disk.putInt(area, LvmLabel.checksum(disk.slice(area + 4, 508)));
    return this;
  }

  ByteBuffer disk() {
    return disk;
  }

  Survey survey() throws IOException {
    return FileSystems.survey(new MemoryImage(bytes));
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.ISO_8859_1);
  }

  /** The metadata, as LVM2 writes it. */
  static String text() {
    return """
        vg0 {
        id = "xSEh1U-UaNM-R7ct-AkpS-QeJg-WLZe-Zu2q9c"
        seqno = 7
        format = "lvm2"			# informational
        status = ["RESIZEABLE", "READ", "WRITE"]
        flags = []
        extent_size = 8
        max_lv = 0
        max_pv = 0
        metadata_copies = 0

        physical_volumes {

        pv0 {
        id = "abcdef-ghij-klmn-opqr-stuv-wxyz-012345"
        device = "/dev/\\"disk\\"\\\\"

        status = ["ALLOCATABLE"]
        flags = []
        dev_size = %d
        pe_start = 256
        pe_count = 150
        }
        }

        logical_volumes {

        fat {
        id = "bwZ6nC-Fq77-qCcQ-1jw4-JudA-dhJ0-sqL7Ko"
        status = ["READ", "WRITE", "VISIBLE"]
        flags = []
        tags = ["a", "b"]
        creation_time = 1795757632
        creation_host = "vm"
        segment_count = 1

        segment1 {
        start_extent = 0
        extent_count = 38

        type = "striped"
        stripe_count = 1

        stripes = [
        "pv0", 2
        ]
        }
        }

        exfat {
        id = "4fItE6-4Gxd-1b1e-S3fJ-MueT-6oTG-fesNFq"
        status = ["READ", "WRITE", "VISIBLE"]
        flags = []
        segment_count = 2

        segment1 {
        start_extent = 0
        extent_count = 30
        type = "striped"
        stripe_count = 1
        stripes = [
        "pv0", 70
        ]
        }
        segment2 {
        start_extent = 30
        extent_count = 24
        type = "striped"
        stripe_count = 1
        stripes = [
        "pv0", 41
        ]
        }
        }

        swap {
        id = "OsV8Le-ngji-h3Ob-5FhJ-DHzE-3OJ6-kuPUqw"
        status = ["READ", "WRITE", "VISIBLE"]
        flags = []
        segment_count = 1

        segment1 {
        start_extent = 0
        extent_count = 40
        type = "striped"
        stripe_count = 2
        stripe_size = 16
        stripes = [
        "pv0", 100,
        "pv0", 121
        ]
        }
        }
        }

        }
        # Generated by LVM2 version 2.03.16(2) (2022-05-18): Fri Nov 27 05:33:52 2026

        contents = "Text Format Volume Group"
        version = 1

        description = "Write from lvcreate."

        creation_host = "vm"	# Linux
        creation_time = 1795757632	# Fri
        """
        .formatted((DATA + EXTENTS * EXTENT + 2048) / 512);
  }
}
