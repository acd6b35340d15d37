package io.cephcsi.bindings.rbd;

import io.cephcsi.bindings.internal.NativeMemory;

/**
 * An image in a pool.
 *
 * @param id the id, which never changes; empty for an image of the old format 1
 * @param name the name
 */
public record ImageName(String id, String name) {
  static final int BYTES = 16;

  static ImageName decode(long spec) {
    return new ImageName(
        NativeMemory.cString(NativeMemory.getLong(spec)),
        NativeMemory.cString(NativeMemory.getLong(spec + 8)));
  }
}
