package io.cephcsi.bindings.rbd;

import io.cephcsi.bindings.internal.NativeMemory;

/**
 * Size and layout of an image.
 *
 * @param size in bytes
 * @param objectSize size of its objects in bytes
 * @param objects how many objects it has when all exist
 * @param order the object size as a power of two
 */
public record ImageInfo(long size, long objectSize, long objects, int order) {
  /**
   * {@code sizeof(rbd_image_info_t)}: three numbers, the order, and 128 bytes that are deprecated.
   */
  static final int BYTES = 160;

  static ImageInfo decode(long info) {
    return new ImageInfo(
        NativeMemory.getLong(info),
        NativeMemory.getLong(info + 8),
        NativeMemory.getLong(info + 16),
        NativeMemory.getInt(info + 24));
  }
}
