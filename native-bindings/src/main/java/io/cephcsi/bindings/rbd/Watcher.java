package io.cephcsi.bindings.rbd;

import io.cephcsi.bindings.internal.NativeMemory;

/**
 * A client that has an image open for writing.
 *
 * @param address its address with nonce, such as {@code 10.0.0.5:0/123}
 * @param clientId the N of its name client.N
 * @param cookie tells several watches of one client apart
 */
public record Watcher(String address, long clientId, long cookie) {
  static final int BYTES = 24;

  static Watcher decode(long watcher) {
    return new Watcher(
        NativeMemory.cString(NativeMemory.getLong(watcher)),
        NativeMemory.getLong(watcher + 8),
        NativeMemory.getLong(watcher + 16));
  }
}
