package io.cephcsi.bindings.rbd;

import io.cephcsi.bindings.internal.NativeMemory;

/**
 * An image in a group ({@code rbd_group_image_info_t}).
 *
 * @param poolId the image's pool
 * @param name the image's name
 * @param attached false while it is being added or removed, or when that was broken off
 */
public record GroupImage(long poolId, String name, boolean attached) {
  static final int BYTES = 24;

  static GroupImage decode(long info) {
    return new GroupImage(
        NativeMemory.getLong(info + 8),
        NativeMemory.cString(NativeMemory.getLong(info)),
        NativeMemory.getInt(info + 16) == 0);
  }
}
