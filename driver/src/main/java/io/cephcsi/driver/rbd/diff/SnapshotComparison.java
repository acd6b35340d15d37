package io.cephcsi.driver.rbd.diff;

import io.cephcsi.bindings.cls.ChangedObjects;
import io.cephcsi.bindings.rbd.DiffVisitor;
import io.cephcsi.bindings.rbd.ImageLayout;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.volume.Extent;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * Finds what differs between two snapshots of an image by reading both, in blocks of 4 KiB, where
 * they may differ.
 *
 * @param then the image at the older snapshot
 * @param now the image at the newer snapshot
 * @param batches gets what differs
 */
record SnapshotComparison(RbdImage then, RbdImage now, ExtentBatches batches) {
  private static final int BLOCK = 4096;

  /** Of each snapshot at a time: the heap has 128 MiB, and the driver serves 16 streams at once. */
  private static final int READ = 512 << 10;

  /**
   * Compares.
   *
   * @param changed the objects that may differ; empty where that is not known
   * @param windows bounds what is kept in memory where that is not known
   * @param from begin at this offset
   */
  void compare(Optional<ChangedObjects> changed, DiffWindows windows, long from) {
    long size = now.size();
    if (changed.isPresent()) {
      ImageLayout layout = changed.get().layout();
      long unit = layout.setBytes();
      for (long at = from - from % unit; at < size; at += unit) {
        batches.requireTaker();
        long length = Math.min(unit, size - at);
        if (changed.get().in(at, length)) {
          compare(at, length);
        }
      }
      return;
    }
    windows.walk(
        from - from % BLOCK,
        size,
        (offset, length, visitor) ->
            allocated(now, offset, length, visitor) && allocated(then, offset, length, visitor),
        batches::requireTaker,
        this::compareBlocks);
  }

  /** What an image has in a range, which may be behind its end. */
  private static boolean allocated(RbdImage image, long offset, long length, DiffVisitor visitor) {
    long there = Math.min(length, image.size() - offset);
    return there <= 0 || image.diff(Optional.empty(), offset, there, true, false, visitor);
  }

  /**
   * Compares what is allocated in one of the two, from block to block.
   *
   * @param found rising; what is in both is there twice
   */
  private void compareBlocks(List<Extent> found) {
    long begin = 0;
    long end = 0;
    for (Extent extent : found) {
      if (extent.offset() > end) {
        compare(begin, end - begin);
        begin = extent.offset() - extent.offset() % BLOCK;
        end = begin;
      }
      end = Math.max(end, Math.min(now.size(), (extent.end() + BLOCK - 1) / BLOCK * BLOCK));
    }
    compare(begin, end - begin);
  }

  private void compare(long offset, long length) {
    for (long at = offset; at < offset + length; at += READ) {
      batches.requireTaker();
      addChanged(at, (int) Math.min(READ, offset + length - at));
      batches.flush();
    }
  }

  /** Apart from what waits for the client: what was read is not kept meanwhile. */
  private void addChanged(long offset, int length) {
    byte[] newer = read(now, offset, length);
    byte[] older = read(then, offset, length);
    for (int block = 0; block < length; block += BLOCK) {
      int end = Math.min(block + BLOCK, length);
      if (!Arrays.equals(newer, block, end, older, block, end)) {
        batches.add(offset + block, end - block);
      }
    }
  }

  /** What an image has in a range; behind its end zeroes, which it will have when it has grown. */
  private static byte[] read(RbdImage image, long offset, int length) {
    long there = Math.min(length, image.size() - offset);
    if (there <= 0) {
      return new byte[length];
    }
    byte[] bytes = image.read(offset, (int) there);
    return there == length ? bytes : Arrays.copyOf(bytes, length);
  }
}
