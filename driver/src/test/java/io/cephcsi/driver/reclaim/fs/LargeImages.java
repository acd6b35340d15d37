package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * A program that inspects images that ask for much memory, several at once, and prints a line for
 * each. It is run with the heap of the driver.
 */
final class LargeImages {
  private static final int THREADS = 8;
  private static final int BIG_NODE = 64 << 10;

  private LargeImages() {}

  /** Images made here by their names, or files. */
  public static void main(String[] images) throws IOException, InterruptedException {
    ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    try {
      List<Future<String>> answers = new ArrayList<>();
      for (String image : images) {
        answers.add(threads.submit(() -> answer(image)));
      }
      for (Future<String> answer : answers) {
        System.out.println(answer.get());
      }
    } catch (ExecutionException e) {
      throw new IOException(e.getCause());
    } finally {
      threads.shutdownNow();
    }
  }

  private static String answer(String image) throws IOException {
    return switch (image) {
      case "ext" -> image + " " + told(FileSystems.inspect(ext(8, 1 << 21)));
      case "ext-of-many-groups" -> image + " " + told(FileSystems.inspect(ext(256, 1 << 21)));
      case "xfs" -> image + " " + told(FileSystems.inspect(xfs()));
      default -> {
        try (ImageFile file = new ImageFile(Path.of(image))) {
          yield image + " " + told(FileSystems.inspect(file));
        }
      }
    };
  }

  private static String told(Inspection inspection) {
    return inspection instanceof Inspection.Refused refused
        ? refused.reason() + " " + refused.detail()
        : inspection.toString();
  }

  /** A thin image: what is not given reads as zeros. */
  private record Thin(long size, long at, ByteBuffer bytes) implements BlockReader {
    @Override
    public void read(long offset, ByteBuffer into) {
      for (long place = offset; into.hasRemaining(); place++) {
        boolean given = place >= at && place < at + bytes.limit();
        into.put(given ? bytes.get((int) (place - at)) : 0);
      }
    }
  }

  /** Nothing but a superblock of ext2, which promises that many groups. */
  static BlockReader ext(int blocksPerGroup, int groups) {
    ByteBuffer superblock = ByteBuffer.allocate(1024).order(ByteOrder.LITTLE_ENDIAN);
    long blocks = (long) blocksPerGroup * groups;
    superblock.putInt(0, 8 * groups).putInt(4, (int) blocks).putInt(0x10, 0);
    superblock.putInt(0x14, 1).putInt(0x20, blocksPerGroup).putInt(0x24, blocksPerGroup);
    superblock.putInt(0x28, 8).putShort(0x38, (short) 0xEF53).putShort(0x3A, (short) 1);
    superblock.putInt(0x4C, 1).putInt(0x54, 11).putShort(0x58, (short) 128);
    return new Thin((blocks + 1) << 10, 1024, superblock);
  }

  /** XFS version 4 with blocks of 64 KiB, and a root of 5460 children that are not there. */
  static BlockReader xfs() {
    int group = 1 << 14;
    ByteBuffer bytes = ByteBuffer.allocate(9 * BIG_NODE);
    ByteBuffer superblock = bytes.slice(0, 512).putInt(0, 0x58465342).putInt(4, BIG_NODE);
    superblock.putLong(8, group).putLong(48, 8).putInt(84, group).putInt(88, 1).putInt(96, 32);
    superblock.putShort(100, (short) 0xB4A4).putShort(102, (short) 512);
    superblock.putShort(104, (short) 512).putShort(106, (short) 128);
    superblock.put(120, new byte[] {16, 9, 9, 7, 14});
    superblock.putInt(200, 0x8A).putInt(204, 0x8A);
    ByteBuffer agf = bytes.slice(512, 512).putInt(0, 0x58414746).putInt(4, 1);
    agf.putInt(12, group).putInt(16, 1).putInt(20, 2).putInt(28, 5).putInt(32, 5);
    ByteBuffer agi = bytes.slice(1024, 512).putInt(0, 0x58414749).putInt(4, 1).putInt(12, group);
    agi.putInt(20, 3).putInt(24, 1);
    for (int i = 0; i < 64; i++) {
      agi.putInt(40 + 4 * i, -1);
    }
    node(bytes.slice(2 * BIG_NODE, BIG_NODE), 4, 1, -1, -1);
    node(bytes.slice(4 * BIG_NODE, BIG_NODE), 3, 5460, -1, -1);
    log(bytes.slice(8 * BIG_NODE, BIG_NODE));
    return new Thin((long) group * BIG_NODE, 0, bytes);
  }

  private static void node(ByteBuffer node, int level, int count, int left, int right) {
    node.putInt(0, 0x41425443).putShort(4, (short) level).putShort(6, (short) count);
    node.putInt(8, left).putInt(12, right);
    int most = (BIG_NODE - 16) / 12;
    for (int i = 0; i < count; i++) {
      node.putInt(16 + 8 * i, level == 4 ? 0 : i).putInt(20 + 8 * i, level == 4 ? 1 : i + 1);
      node.putInt(16 + 8 * most + 4 * i, level == 4 ? 4 : 5);
    }
  }

  private static void log(ByteBuffer log) {
    log.putInt(0, 0xFEEDBABE).putInt(4, 1).putInt(8, 2).putInt(12, 512).putLong(16, 1L << 32);
    log.putInt(40, 1).putInt(300, 1).putInt(320, 32768);
    log.putInt(512, 1).putInt(516, 8).put(520, (byte) 0xAA).put(521, (byte) 0x20);
    log.putShort(524, (short) 0x6E55);
  }
}
