package io.cephcsi.driver.rbd.diff;

import io.cephcsi.bindings.cls.ChangedObjects;
import io.cephcsi.bindings.rbd.ImageLayout;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.volume.Extent;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
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
  private static final int READ = 4 << 20;
  private static final long WINDOW = 4L << 30; // of a diff; bounds what is kept in memory

  /**
   * Compares.
   *
   * @param changed the objects that may differ; empty where that is not known
   * @param from begin at this offset
   */
  void compare(Optional<ChangedObjects> changed, long from) {
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
    for (long at = from - from % BLOCK; at < size; at += WINDOW) {
      batches.requireTaker();
      for (Extent extent : allocated(at, Math.min(WINDOW, size - at))) {
        compare(extent.offset(), extent.length());
      }
    }
  }

  /** What is allocated in one of the two, on the borders of blocks. */
  private List<Extent> allocated(long offset, long length) {
    List<Extent> found = new ArrayList<>();
    collect(now, offset, length, found);
    collect(then, offset, Math.min(length, then.size() - offset), found);
    found.sort(Comparator.comparingLong(Extent::offset));
    List<Extent> merged = new ArrayList<>();
    ExtentBatches put =
        new ExtentBatches(
            now.size(), offset, Integer.MAX_VALUE, (capacity, extents) -> merged.addAll(extents));
    found.forEach(extent -> put.add(extent.offset(), extent.length()));
    put.finish();
    return merged;
  }

  private void collect(RbdImage image, long offset, long length, List<Extent> found) {
    if (length <= 0) {
      return;
    }
    image.diff(
        Optional.empty(),
        offset,
        length,
        true,
        false,
        (start, bytes, exists) -> {
          batches.requireTaker();
          long begin = start - start % BLOCK;
          long end = (start + bytes + BLOCK - 1) / BLOCK * BLOCK;
          found.add(new Extent(begin, end - begin));
          return true;
        });
  }

  private void compare(long offset, long length) {
    for (long at = offset; at < offset + length; at += READ) {
      batches.requireTaker();
      int bytes = (int) Math.min(READ, offset + length - at);
      byte[] newer = read(now, at, bytes);
      byte[] older = read(then, at, bytes);
      for (int block = 0; block < bytes; block += BLOCK) {
        int end = Math.min(block + BLOCK, bytes);
        if (!Arrays.equals(newer, block, end, older, block, end)) {
          batches.add(at + block, end - block);
        }
      }
      batches.flush();
    }
  }

  /** What an image has in a range; behind its end zeroes, which it will have when it has grown. */
  private static byte[] read(RbdImage image, long offset, int length) {
    long there = Math.min(length, image.size() - offset);
    return there <= 0 ? new byte[length] : Arrays.copyOf(image.read(offset, (int) there), length);
  }
}
