package io.cephcsi.bindings.internal;

import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.error.ReturnCode;

/**
 * The one loop for results of unknown size: while the library says ERANGE, the buffer grows to what
 * it asked for, or doubles when it did not say.
 */
public final class GrowingBuffer {
  /** The most bytes that a single value may have: an attribute, or metadata. */
  public static final int VALUE_BYTES = 64 << 10;

  private static final int LIST_BYTES = 16 << 20;
  // librbd 16 ends the list of group names with a zero byte behind the space that it asked for.
  private static final int SLACK_BYTES = 8;

  private GrowingBuffer() {}

  /**
   * Calls until the result fits.
   *
   * @param elementBytes size of one element: a struct, or 1 for text
   * @param elements how many elements to offer first
   * @param operation the C function, for errors
   * @param object what it is about, for errors
   * @param call the native call
   * @param decoder reads the result while the buffer is valid, and frees what the library put in it
   * @throws io.cephcsi.bindings.error.CephException if the call fails otherwise; TooLarge if the
   *     result has more than 16 MiB
   */
  public static <T> T read(
      int elementBytes,
      long elements,
      String operation,
      String object,
      Call call,
      Decoder<T> decoder) {
    return read(elementBytes, elements, LIST_BYTES, operation, object, call, decoder);
  }

  /**
   * As {@link #read}, of a single value.
   *
   * @param bytes how many to offer first
   * @throws io.cephcsi.bindings.error.CephException if the call fails otherwise; TooLarge if the
   *     value has more than 64 KiB
   */
  public static <T> T readValue(
      long bytes, String operation, String object, Call call, Decoder<T> decoder) {
    return read(1, bytes, VALUE_BYTES, operation, object, call, decoder);
  }

  private static <T> T read(
      int elementBytes,
      long elements,
      int mostBytes,
      String operation,
      String object,
      Call call,
      Decoder<T> decoder) {
    long most = mostBytes / elementBytes;
    long capacity = elements;
    while (true) {
      try (NativeArena arena = NativeArena.open()) {
        long cell = arena.cell(capacity);
        long buffer = arena.allocate(capacity * elementBytes + SLACK_BYTES);
        int code = call.into(buffer, capacity, cell);
        long needed = arena.getLong(cell);
        if (code != -Errno.ERANGE.number()) {
          return decoder.decode(buffer, ReturnCode.check(code, operation, object), needed);
        }
        if (capacity >= most || needed > most) {
          String detail = "more than " + mostBytes + " bytes";
          throw ReturnCode.exception(-Errno.EFBIG.number(), operation, object, detail);
        }
        capacity = needed > capacity ? needed : Math.min(capacity * 2, most);
      }
    }
  }

  /** A native call that writes into a buffer, or returns −ERANGE. */
  public interface Call {
    /**
     * Calls.
     *
     * @param buffer not cleared
     * @param capacity how many elements it holds
     * @param cell 8 bytes that hold the capacity; the library puts there how many elements it wrote
     *     or needs (as {@code size_t} or {@code int}), or leaves it alone
     */
    int into(long buffer, long capacity, long cell);
  }

  /** Reads a result. */
  public interface Decoder<T> {
    /**
     * Reads.
     *
     * @param buffer the result
     * @param code what the call returned, not negative
     * @param count what it left in the cell
     */
    T decode(long buffer, int code, long count);
  }
}
