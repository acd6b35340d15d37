package io.cephcsi.bindings.rados;

import io.cephcsi.bindings.internal.LibRados;

/** Memory that librados allocated for a result. */
final class RadosBuffer {
  private RadosBuffer() {}

  /** Frees a buffer ({@code rados_buffer_free}); 0, which librados leaves on failure, is none. */
  static void free(long buffer) {
    if (buffer != 0) {
      LibRados.rados_buffer_free(buffer);
    }
  }
}
