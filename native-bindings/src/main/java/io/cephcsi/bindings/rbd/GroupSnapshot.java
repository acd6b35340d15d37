package io.cephcsi.bindings.rbd;

import io.cephcsi.bindings.internal.NativeMemory;

/**
 * A snapshot of all images of a group ({@code rbd_group_snap_info_t}).
 *
 * @param name the name
 * @param complete false while it is being taken or removed, or when that was broken off
 */
public record GroupSnapshot(String name, boolean complete) {
  static final int BYTES = 16;
  private static final int COMPLETE = 1;

  static GroupSnapshot decode(long info) {
    return new GroupSnapshot(
        NativeMemory.cString(NativeMemory.getLong(info)),
        NativeMemory.getInt(info + 8) == COMPLETE);
  }
}
