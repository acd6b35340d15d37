package io.cephcsi.bindings.rbd;

import io.cephcsi.bindings.internal.NativeMemory;
import java.time.Instant;

/** {@code struct timespec} on 64-bit Linux. */
final class Timespec {
  static final int BYTES = 16;

  private Timespec() {}

  static Instant decode(long address) {
    return Instant.ofEpochSecond(NativeMemory.getLong(address), NativeMemory.getLong(address + 8));
  }
}
