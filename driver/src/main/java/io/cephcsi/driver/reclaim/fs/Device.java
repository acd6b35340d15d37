package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * A device, or a partition of it, with reads checked against its size and neighbouring blocks read
 * together.
 */
final class Device {
  /** A gap that is read through rather than paid for with another round trip, in bytes. */
  private static final int BRIDGE = 32 << 10;

  /** Longest single read, and about what is read at once, in bytes. */
  private static final int LONGEST_READ = 1 << 20;

  private final BlockReader reader;
  private final InspectionMemory memory;
  private final long start;
  private final long size;

  Device(BlockReader reader, InspectionMemory memory) {
    this(reader, memory, 0, reader.size());
  }

  private Device(BlockReader reader, InspectionMemory memory, long start, long size) {
    this.reader = reader;
    this.memory = memory;
    this.start = start;
    this.size = size;
  }

  /** Part of this device; offsets of the part start at 0. */
  Device part(long offset, long length) {
    checkRange(offset, length);
    return new Device(reader, memory, start + offset, length);
  }

  /** What the inspection may allocate. */
  InspectionMemory memory() {
    return memory;
  }

  /** Size in bytes. */
  long size() {
    return size;
  }

  /** Where this part starts on the whole device, in bytes. */
  long start() {
    return start;
  }

  /** Reads bytes; the buffer's position is 0 and its limit the length. */
  ByteBuffer read(long offset, int length, ByteOrder order) throws IOException {
    checkRange(offset, length);
    ByteBuffer into = ByteBuffer.allocate(length);
    reader.read(start + offset, into);
    if (into.hasRemaining()) {
      throw new IOException("short read at " + (start + offset) + " of " + length + " bytes");
    }
    return into.flip().order(order);
  }

  /** Reads several ranges, in any order. */
  void readAll(List<BlockReader.Request> reads) throws IOException {
    List<BlockReader.Request> requests = new ArrayList<>();
    for (BlockReader.Request read : reads) {
      checkRange(read.offset(), read.into().remaining());
      requests.add(new BlockReader.Request(start + read.offset(), read.into()));
    }
    submit(requests);
  }

  /**
   * Reads ranges of one length at ascending offsets, few requests for many ranges.
   *
   * @param offsets byte offsets, ascending
   * @param length bytes of each, which the caller has memory for
   * @return a buffer for each offset; neighbours may share memory
   */
  ByteBuffer[] readBlocks(long[] offsets, int length, ByteOrder order) throws IOException {
    ByteBuffer[] blocks = new ByteBuffer[offsets.length];
    List<Run> runs = new ArrayList<>();
    long bytes = 0;
    int first = 0;
    while (first < offsets.length) {
      int last = endOfRun(offsets, first, length);
      int runLength = Math.toIntExact(offsets[last] + length - offsets[first]);
      checkRange(offsets[first], runLength);
      if (bytes > 0 && bytes + runLength > LONGEST_READ) {
        read(runs, offsets, length, blocks);
        runs.clear();
        bytes = 0;
      }
      bytes += runLength;
      runs.add(new Run(first, last, ByteBuffer.allocate(runLength)));
      first = last + 1;
    }
    read(runs, offsets, length, blocks);
    for (ByteBuffer block : blocks) {
      block.order(order);
    }
    return blocks;
  }

  /** Neighbours, by their indexes, that are read in one piece. */
  private record Run(int first, int last, ByteBuffer bytes) {}

  private void read(List<Run> runs, long[] offsets, int length, ByteBuffer[] blocks)
      throws IOException {
    submit(
        runs.stream()
            .map(run -> new BlockReader.Request(start + offsets[run.first], run.bytes))
            .toList());
    for (Run run : runs) {
      boolean gaps = run.bytes.capacity() > (long) length * (run.last - run.first + 1);
      for (int i = run.first; i <= run.last; i++) {
        ByteBuffer block = run.bytes.slice((int) (offsets[i] - offsets[run.first]), length);
        // What lies in the gaps was read, and is not kept: it can be many times as much.
        blocks[i] = gaps ? ByteBuffer.allocate(length).put(block).flip() : block;
      }
    }
  }

  private void submit(List<BlockReader.Request> requests) throws IOException {
    if (!requests.isEmpty()) {
      reader.readAll(requests);
    }
    for (BlockReader.Request request : requests) {
      if (request.into().hasRemaining()) {
        throw new IOException("short read at " + request.offset());
      }
    }
  }

  private static int endOfRun(long[] offsets, int first, int length) {
    int last = first;
    while (last + 1 < offsets.length
        && offsets[last + 1] - (offsets[last] + length) <= BRIDGE
        && offsets[last + 1] + length - offsets[first] <= LONGEST_READ) {
      last++;
    }
    return last;
  }

  private void checkRange(long offset, long length) {
    if (offset < 0 || length < 0 || offset > size - length) {
      throw new Refusal(
          RefusalReason.TRUNCATED,
          "metadata at byte " + offset + " lies beyond the end of the device of " + size);
    }
  }
}
