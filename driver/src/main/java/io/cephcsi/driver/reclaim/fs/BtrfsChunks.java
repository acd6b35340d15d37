package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** All chunks, by logical address. */
final class BtrfsChunks {
  private static final int MOST = 1 << 17;

  /** What a chunk, its block group and its device extents take in memory, in bytes. */
  private static final int OF_CHUNK = 320;

  private final List<BtrfsChunk> chunks = new ArrayList<>();

  private BtrfsChunks() {}

  /** The system chunks that the superblock names; they hold the chunk tree. */
  static BtrfsChunks ofSuperblock(BtrfsSuperblock superblock) {
    BtrfsChunks chunks = new BtrfsChunks();
    BtrfsFields rest = superblock.systemChunks();
    List<BtrfsChunk> found = new ArrayList<>();
    while (rest.length() > 0) {
      Refusal.require(rest.length() > BtrfsKey.SIZE, "the system chunks are cut off");
      BtrfsKey key = rest.key(0);
      BtrfsFields item = rest.part(BtrfsKey.SIZE, rest.length() - BtrfsKey.SIZE);
      int size = BtrfsChunk.sizeIn(item);
      found.add(BtrfsChunk.of(key, item.part(0, size), superblock));
      rest = item.part(size, item.length() - size);
    }
    found.sort((a, b) -> Long.compare(a.start(), b.start()));
    for (BtrfsChunk chunk : found) {
      Refusal.require(chunk.system(), "a chunk of the superblock is no system chunk");
      chunks.add(chunk);
    }
    return chunks;
  }

  /** Reads the chunk tree: the one device, and all chunks. */
  static BtrfsChunks read(BtrfsVolume volume, BtrfsChunks system) throws IOException {
    BtrfsSuperblock superblock = volume.superblock;
    BtrfsChunks chunks = new BtrfsChunks();
    int[] devices = new int[1];
    BtrfsTree.walk(
        volume,
        superblock.chunkTree(),
        (key, item) -> {
          if (key.type() == BtrfsKey.DEV_ITEM) {
            devices[0]++;
            Refusal.require(
                key.objectId() == 1
                    && key.offset() == superblock.deviceId()
                    && superblock.isDevice(item),
                "the superblock and the chunk tree describe different devices");
          } else {
            volume.device.memory().take(OF_CHUNK);
            chunks.add(BtrfsChunk.of(key, item, superblock));
          }
        });
    Refusal.require(devices[0] == 1, "the chunk tree has no device");
    long expected = chunks.chunks.stream().filter(BtrfsChunk::system).count();
    Refusal.require(expected == system.chunks.size(), "the superblock lacks a system chunk");
    for (BtrfsChunk chunk : system.chunks) {
      Refusal.require(
          chunks.chunks.get(chunks.indexOf(chunk.start())).equals(chunk),
          "a system chunk differs between superblock and chunk tree");
    }
    return chunks;
  }

  private void add(BtrfsChunk chunk) {
    Refusal.require(
        chunks.isEmpty() || chunks.get(chunks.size() - 1).end() <= chunk.start(), "chunks overlap");
    if (chunks.size() == MOST) {
      throw Refusal.unsupported("more than " + MOST + " chunks");
    }
    chunks.add(chunk);
  }

  int count() {
    return chunks.size();
  }

  BtrfsChunk get(int index) {
    return chunks.get(index);
  }

  /** Which chunk has an address; refuses when none has. */
  int indexOf(long address) {
    int index = firstEndingAfter(address);
    if (address < 0 || index == chunks.size() || chunks.get(index).start() > address) {
      throw Refusal.inconsistent("address " + Long.toUnsignedString(address) + " is in no chunk");
    }
    return index;
  }

  /** Whether no chunk has any of these addresses. */
  boolean haveNoneOf(long start, long length) {
    int index = firstEndingAfter(start);
    return start >= 0
        && length > 0
        && start <= Long.MAX_VALUE - length
        && (index == chunks.size() || chunks.get(index).start() >= start + length);
  }

  private int firstEndingAfter(long address) {
    int low = 0;
    int high = chunks.size();
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (chunks.get(middle).end() <= address) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  /** Where on the device the first copy of a tree block is. */
  long ofBlock(long address, int nodeSize) {
    BtrfsChunk chunk = chunks.get(indexOf(address));
    Refusal.require(
        !chunk.data() && address <= chunk.end() - nodeSize,
        "tree block " + address + " is not in a chunk of tree blocks");
    return chunk.first() + (address - chunk.start());
  }
}
