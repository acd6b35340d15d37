package io.cephcsi.bindings.rados;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.error.ReturnCode;
import io.cephcsi.bindings.internal.GrowingBuffer;
import io.cephcsi.bindings.internal.NativeMemory;

/**
 * How much of what librados has read is copied to the heap: whoever may write to a pool can store
 * values of 90 MB, and a read gets up to 1 GiB of them. One for each operation, used by its thread.
 */
final class ReadLimit {
  static final int VALUE_BYTES = GrowingBuffer.VALUE_BYTES;
  private static final int RESULT_BYTES = 1 << 20;
  private static final int SHOWN_BYTES = 100;

  private int valueBytes = VALUE_BYTES;
  private long left = RESULT_BYTES;

  /** Allows one value and the whole operation so many bytes. */
  void raise(int bytes) {
    valueBytes = Math.max(valueBytes, bytes);
    left = Math.max(left, bytes);
  }

  /** Whether a key or value is larger than one may be. */
  boolean isLarge(long bytes) {
    return Long.compareUnsigned(bytes, valueBytes) > 0;
  }

  /** Whether there is room for so many bytes. */
  boolean fits(long bytes) {
    return Long.compareUnsigned(bytes, left) <= 0;
  }

  /** Counts bytes that are about to be copied. */
  void take(long bytes) {
    left = Math.max(0, left - bytes); // of a page, the first is copied in any case
  }

  /** Copies an output, which may be as large as all results together. */
  byte[] output(long address, long length, String object) {
    if (!fits(length)) {
      throw tooLarge(object, "output of " + length);
    }
    take(length);
    return NativeMemory.bytes(address, length);
  }

  /** What to throw for a value of a key or an attribute. */
  CephException tooLarge(String object, long name, long nameBytes, long valueBytes) {
    byte[] shown = NativeMemory.bytes(name, Math.min(nameBytes, SHOWN_BYTES));
    StringBuilder text = new StringBuilder("key ");
    for (byte character : shown) {
      text.append(character > ' ' && character < 0x7f ? (char) character : '?');
    }
    return tooLarge(
        object,
        text.append(nameBytes > SHOWN_BYTES ? "..." : "")
            .append(" of ")
            .append(nameBytes)
            .append(" bytes has a value of ")
            .append(valueBytes)
            .toString());
  }

  private CephException tooLarge(String object, String what) {
    String detail = what + " bytes, and one may have " + valueBytes + ", all others " + left;
    return ReturnCode.exception(-Errno.EFBIG.number(), "rados_read_op_operate", object, detail);
  }
}
