package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;

/** Walks all directories of a FAT file system and claims the clusters of what they name. */
final class FatTree {
  /** Bytes of all directories together, and directories that wait, before we give up. */
  private static final long MOST_BYTES = 1L << 30;

  private static final int MOST_WAITING = 1 << 18;

  /** What one that waits takes in memory. */
  private static final int OF_WAITING = 40;

  /** A directory has at most 65536 entries. */
  private static final int LONGEST = 2 << 20;

  private static final int CHUNK = 1 << 20;
  private static final int ENTRY = 32;
  private static final int DELETED = 0xE5;
  private static final int LABEL = 0x08;
  private static final int DIRECTORY = 0x10;
  private static final int LONG_NAME = 0x0F;

  private final Device device;
  private final FatBootSector boot;
  private final FatTable table;
  private final ArrayDeque<Directory> waiting = new ArrayDeque<>();
  private long bytes;
  private int directories;

  /** A directory below the root; {@code parent} is 0 where that is the root. */
  private record Directory(int cluster, int parent) {}

  FatTree(Device device, FatBootSector boot, FatTable table) {
    this.device = device;
    this.boot = boot;
    this.table = table;
  }

  /** How many directories below the root were found where the boot sector says. */
  int directories() {
    return directories;
  }

  /**
   * @throws Refusal if anything in a directory contradicts the table
   */
  void walk() throws IOException {
    if (boot.bits == 32) {
      claimDirectory(boot.rootCluster);
      readChain(boot.rootCluster, new Scan(new Directory(0, 0)));
    } else {
      int length = boot.rootEntries * ENTRY;
      long offset = boot.rootSector() * boot.sector;
      new Scan(new Directory(0, 0)).take(device.read(offset, length, ByteOrder.LITTLE_ENDIAN));
    }
    while (!waiting.isEmpty()) {
      Directory directory = waiting.removeLast();
      device.memory().give(OF_WAITING);
      directories++;
      readChain(directory.cluster, new Scan(directory));
    }
  }

  private void claimDirectory(int cluster) {
    long length = (long) table.claim(cluster) * boot.clusterSize;
    Refusal.require(length <= Math.max(LONGEST, boot.clusterSize), "a directory is too long");
    bytes += length;
    if (bytes > MOST_BYTES) {
      throw Refusal.unsupported("the directories are longer than " + MOST_BYTES + " bytes");
    }
  }

  private void readChain(int first, Scan scan) throws IOException {
    int most = Math.max(1, CHUNK / boot.clusterSize);
    int cluster = first;
    while (cluster > 0) {
      int run = table.runLength(cluster, most);
      scan.take(
          device.read(boot.offsetOf(cluster), run * boot.clusterSize, ByteOrder.LITTLE_ENDIAN));
      cluster = table.after(cluster + run - 1);
    }
    scan.end();
  }

  /** Reads one directory, part by part. */
  private final class Scan {
    private final Directory directory;
    private int index;
    private boolean ended;

    Scan(Directory directory) {
      this.directory = directory;
    }

    void take(ByteBuffer part) {
      for (int at = 0; at < part.limit(); at += ENTRY) {
        take(part.slice(at, ENTRY).order(ByteOrder.LITTLE_ENDIAN), index++);
      }
    }

    void end() {
      Refusal.require(directory.cluster == 0 || index >= 2, "a directory is too short");
    }

    private void take(ByteBuffer entry, int number) {
      int first = entry.get(0) & 0xff;
      boolean dots = directory.cluster != 0 && number < 2;
      if (first == 0 || first == DELETED) {
        Refusal.require(!dots, "a directory does not begin with itself and its parent");
        ended |= first == 0;
        return;
      }
      Refusal.require(!ended, "a directory goes on after its end");
      int attributes = entry.get(11) & 0xff;
      if ((attributes & 0xC0) != 0) {
        throw Refusal.unsupported("unknown attributes of a file");
      }
      int cluster = clusterOf(entry, attributes);
      if (first == '.') {
        checkDots(entry, number, attributes, cluster);
        return;
      }
      Refusal.require(!dots, "a directory does not begin with itself and its parent");
      claim(entry, attributes, cluster);
    }

    private int clusterOf(ByteBuffer entry, int attributes) {
      int low = entry.getShort(26) & 0xffff;
      if (attributes == LONG_NAME) {
        return low;
      }
      int high = entry.getShort(20) & 0xffff;
      if (boot.bits != 32 && high != 0) {
        throw Refusal.unsupported("a file has extended attributes");
      }
      return high << 16 | low;
    }

    private void checkDots(ByteBuffer entry, int number, int attributes, int cluster) {
      boolean right = directory.cluster != 0 && number < 2 && (attributes & DIRECTORY) != 0;
      right &= attributes != LONG_NAME && (attributes & LABEL) == 0;
      for (int i = 1; i < 11; i++) {
        right &= entry.get(i) == (i <= number ? '.' : ' ');
      }
      int wanted = number == 0 ? directory.cluster : directory.parent;
      right &= cluster == wanted || (number == 1 && wanted == 0 && cluster == boot.rootCluster);
      Refusal.require(right, "a directory does not name itself and its parent rightly");
    }

    private void claim(ByteBuffer entry, int attributes, int cluster) {
      long size = entry.getInt(28) & 0xffffffffL;
      if (attributes == LONG_NAME) {
        Refusal.require(cluster == 0, "a long name has a cluster");
      } else if ((attributes & LABEL) != 0) {
        Refusal.require(
            (attributes & DIRECTORY) == 0 && cluster == 0 && size == 0 && directory.cluster == 0,
            "a volume label is not one");
      } else if ((attributes & DIRECTORY) != 0) {
        Refusal.require(size == 0, "a directory has a length");
        claimDirectory(cluster);
        device.memory().take(OF_WAITING);
        waiting.addLast(new Directory(cluster, directory.cluster));
        if (waiting.size() > MOST_WAITING) {
          throw Refusal.unsupported("more directories than " + MOST_WAITING);
        }
      } else if (size == 0) {
        Refusal.require(cluster == 0, "an empty file has a cluster");
      } else {
        long wanted = (size + boot.clusterSize - 1) / boot.clusterSize;
        Refusal.require(
            table.claim(cluster) == wanted, "a file's size and its clusters do not agree");
      }
    }
  }
}
