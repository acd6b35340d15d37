package io.cephcsi.bindings.cephfs;

import io.cephcsi.bindings.internal.NativeMemory;

/**
 * Room of a mount ({@code struct statvfs}).
 *
 * @param totalBytes how much it can hold
 * @param availableBytes how much more
 * @param files how many files there are
 */
public record FileSystemSpace(long totalBytes, long availableBytes, long files) {
  static final int BYTES = 112;

  static FileSystemSpace decode(long stat) {
    long fragment = NativeMemory.getLong(stat + 8);
    return new FileSystemSpace(
        NativeMemory.getLong(stat + 16) * fragment,
        NativeMemory.getLong(stat + 32) * fragment,
        NativeMemory.getLong(stat + 40));
  }
}
