package io.cephcsi.bindings.rbd;

import io.cephcsi.bindings.internal.GrowingBuffer;
import io.cephcsi.bindings.internal.NativeHandle;
import java.util.ArrayList;
import java.util.List;

/** Arrays of C structs that librbd fills. */
final class StructArray {
  private static final int FIRST_COUNT = 64;

  private StructArray() {}

  /**
   * Reads an array.
   *
   * @param handle held open meanwhile
   * @param bytes size of a struct
   * @param call fills the array
   * @param cleanup frees what the structs point to
   */
  static <T> List<T> read(
      NativeHandle handle,
      String operation,
      String object,
      int bytes,
      Call call,
      Cleanup cleanup,
      Decoder<T> decoder) {
    return handle.use(
        (pointer, arena) ->
            GrowingBuffer.read(
                bytes,
                FIRST_COUNT,
                operation,
                object,
                (array, capacity, cell) -> call.list(pointer, array, cell),
                (array, code, count) -> decode(bytes, array, count, cleanup, decoder)));
  }

  private static <T> List<T> decode(
      int bytes, long array, long count, Cleanup cleanup, Decoder<T> decoder) {
    try {
      List<T> all = new ArrayList<>(Math.toIntExact(count));
      for (long i = 0; i < count; i++) {
        all.add(decoder.decode(array + i * bytes));
      }
      return List.copyOf(all);
    } finally {
      cleanup.free(array, count);
    }
  }

  /** A list function of librbd: the cell holds the capacity, and the count afterwards. */
  interface Call {
    int list(long pointer, long array, long cell);
  }

  /** A function of librbd that frees what the structs of an array point to. */
  interface Cleanup {
    void free(long array, long count);
  }

  /** Reads one struct. */
  interface Decoder<T> {
    T decode(long struct);
  }
}
