package io.cephcsi.driver.reclaim.fs;

import io.cephcsi.testing.Fuzzing;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Whatever stands on a disk: it is inspected or refused, and nothing outside of it is called free.
 * The input is a list of changes to a small file system or partition table that is whole.
 */
class FileSystemsFuzzTest {
  private static final int CHANGE = 5;

  @Test
  void anInspectionAlwaysAnswers() {
    Fuzzing.run(
        Disks.class,
        List.of(
            new byte[] {0},
            new byte[] {1},
            new byte[] {2},
            new byte[] {3},
            new byte[] {4},
            new byte[] {5},
            new byte[] {6},
            new byte[] {7},
            new byte[] {8},
            new byte[] {9},
            new byte[] {5, 0, 0, 2, 4, 7},
            new byte[] {6, 0, 0, 0x40, 0x0, 7},
            new byte[] {0, 0, 0, 4, 56, 1},
            new byte[] {1, 0, 0, 16, 0, 9},
            new byte[] {3, 0, 0, 2, 0, 7},
            new byte[] {4, 0, 0, 64, 70, 1},
            new byte[] {8, 0, 0, 1, (byte) 0xCA, 1}));
  }

  /** The first byte says which disk; each five bytes more put a byte at a place. */
  public static final class Disks {
    private static final byte[][] WHOLE = {
      new TinyExt(new Random(1)).bytes,
      new TinyXfs(new Random(1), true).bytes,
      new TinyXfs(new Random(1), false).bytes,
      TinyDisk.guid(TinyDos.fat(), TinyDos.swap()).bytes,
      new TinyNtfs().bytes,
      TinyDos.fat(),
      TinyDos.exfat(),
      TinyDos.swap(),
      TinyDisk.mbr(1, TinyDos.swap(), TinyDos.fat(), TinyDos.exfat()).bytes,
      lvm()
    };

    private Disks() {}

    private static byte[] lvm() {
      try {
        return new TinyLvm().bytes;
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    /** What the fuzzer calls. */
    public static void fuzzerTestOneInput(byte[] input) throws IOException {
      if (input.length == 0) {
        return;
      }
      byte[] disk = WHOLE[Math.floorMod(input[0], WHOLE.length)];
      ByteBuffer changes = ByteBuffer.wrap(input, 1, (input.length - 1) / CHANGE * CHANGE);
      int[] at = new int[changes.remaining() / CHANGE];
      byte[] before = new byte[at.length];
      for (int i = 0; i < at.length; i++) {
        at[i] = Math.floorMod(changes.getInt(), disk.length);
        before[i] = disk[at[i]];
        disk[at[i]] = changes.get();
      }
      try {
        inspect(disk);
      } finally {
        for (int i = at.length - 1; i >= 0; i--) {
          disk[at[i]] = before[i];
        }
      }
    }

    private static void inspect(byte[] disk) throws IOException {
      if (FileSystems.inspect(new MemoryImage(disk)) instanceof Inspection.Clean clean) {
        for (FreeRange range : Ranges.of(clean)) {
          if (range.offset() < 0 || range.length() <= 0 || range.end() > disk.length) {
            throw new AssertionError(range + " is not within the disk");
          }
        }
      }
    }
  }
}
