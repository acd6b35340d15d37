package io.cephcsi.driver.reclaim.fs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Reads $Bitmap, checks it against the clusters that files use, and collects the free ones. */
final class NtfsFreeSpace {
  private static final int PIECE = 1 << 20;

  private final NtfsStream bitmap;
  private final NtfsBits used;
  private final long clusters;
  private final RangePlan plan;
  private long freeFrom = -1;

  NtfsFreeSpace(NtfsStream bitmap, NtfsBits used, NtfsBoot boot, Device device) {
    this.bitmap = bitmap;
    this.used = used;
    this.clusters = boot.clusters;
    this.plan = new RangePlan(device, 0, boot.clusterSize);
  }

  RangePlan collect() throws IOException {
    long bytes = bitmap.size();
    Refusal.require(
        bytes >= (clusters + 7) / 8
            && bytes <= (clusters + 63) / 64 * 8
            && bitmap.initialized() == bytes,
        "$Bitmap has another size than the volume");
    for (long at = 0; at < bytes; at += PIECE) {
      int length = (int) Math.min(PIECE, bytes - at);
      ByteBuffer padded = ByteBuffer.allocate((length + 7) / 8 * 8).order(ByteOrder.LITTLE_ENDIAN);
      padded.putLong(padded.limit() - 8, -1);
      padded.put(0, bitmap.read(at, length), 0, length);
      for (int i = 0; i < padded.limit(); i += 8) {
        collect((at + i) / 8, padded.getLong(i));
      }
    }
    end(clusters);
    return plan.finish();
  }

  private void collect(long index, long word) {
    long first = index * 64;
    long rest = clusters - first;
    long beyond = rest >= 64 ? 0 : -1L << rest;
    Refusal.require((word & beyond) == beyond, "$Bitmap has free clusters beyond the volume");
    Refusal.require(
        (used.word(index) & ~word) == 0,
        "$Bitmap has clusters of a file as free, from " + first + " on");
    if (word == 0) {
      begin(first);
    } else if (word == -1) {
      end(first);
    } else {
      for (int bit = 0; bit < 64; bit++) {
        if ((word >>> bit & 1) == 0) {
          begin(first + bit);
        } else {
          end(first + bit);
        }
      }
    }
  }

  private void begin(long cluster) {
    if (freeFrom < 0) {
      freeFrom = cluster;
    }
  }

  private void end(long cluster) {
    if (freeFrom >= 0) {
      plan.add(freeFrom, cluster - freeFrom);
      freeFrom = -1;
    }
  }
}
