package io.cephcsi.driver.reclaim.fs;

import java.nio.ByteBuffer;

/** The update sequence of NTFS: each 512 bytes end in a number that shows a torn write. */
final class NtfsFixup {
  private static final int STRIDE = 512;

  private NtfsFixup() {}

  /** Checks the numbers and puts the bytes back that they stand for. */
  static void apply(ByteBuffer bytes, String what) {
    int at = bytes.getShort(4) & 0xffff;
    int count = bytes.getShort(6) & 0xffff;
    int strides = bytes.limit() / STRIDE;
    boolean fits = at % 2 == 0 && at >= 8 && at + 2 * count <= STRIDE - 2;
    Refusal.require(
        fits && count == strides + 1 && bytes.limit() % STRIDE == 0,
        what + " has a wrong update sequence");
    short number = bytes.getShort(at);
    for (int i = 1; i <= strides; i++) {
      Refusal.require(bytes.getShort(i * STRIDE - 2) == number, what + " was written in part");
      bytes.putShort(i * STRIDE - 2, bytes.getShort(at + 2 * i));
    }
  }
}
