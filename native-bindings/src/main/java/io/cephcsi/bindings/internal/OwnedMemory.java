package io.cephcsi.bindings.internal;

import com.sun.jna.Native;
import com.sun.jna.Pointer;
import java.util.ArrayList;
import java.util.List;

/**
 * Native memory that lives as long as its owner: results that the cluster writes into after the
 * call that asked for them. Not safe for several threads.
 */
public final class OwnedMemory implements AutoCloseable {
  private final List<Long> blocks = new ArrayList<>();

  /** Reserves cleared memory, until {@link #close()}. */
  public long allocate(long bytes) {
    long size = NativeMemory.size(bytes);
    long address = NativeMemory.allocate(size);
    blocks.add(address);
    new Pointer(address).clear(size);
    return address;
  }

  @Override
  public void close() {
    blocks.forEach(Native::free);
    blocks.clear();
  }
}
