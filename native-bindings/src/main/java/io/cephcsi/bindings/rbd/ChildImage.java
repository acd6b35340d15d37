package io.cephcsi.bindings.rbd;

import io.cephcsi.bindings.internal.NativeMemory;

/**
 * A clone ({@code rbd_linked_image_spec_t}).
 *
 * @param poolId the pool's id
 * @param poolName the pool's name
 * @param namespace the namespace in the pool; empty for the default one
 * @param imageId the image's id
 * @param imageName the image's name, also when it is in the trash
 * @param inTrash whether it is in the trash
 */
public record ChildImage(
    long poolId,
    String poolName,
    String namespace,
    String imageId,
    String imageName,
    boolean inTrash) {
  static final int BYTES = 48;

  static ChildImage decode(long spec) {
    return new ChildImage(
        NativeMemory.getLong(spec),
        NativeMemory.cString(NativeMemory.getLong(spec + 8)),
        NativeMemory.cString(NativeMemory.getLong(spec + 16)),
        NativeMemory.cString(NativeMemory.getLong(spec + 24)),
        NativeMemory.cString(NativeMemory.getLong(spec + 32)),
        NativeMemory.getByte(spec + 40) != 0);
  }
}
