package io.cephcsi.bindings.rbd;

import io.cephcsi.bindings.internal.NativeMemory;

/**
 * The snapshot that a clone was made from ({@code rbd_linked_image_spec_t}, {@code
 * rbd_snap_spec_t}).
 *
 * @param poolId the pool's id
 * @param poolName the pool's name
 * @param namespace the namespace in the pool; empty for the default one
 * @param imageId the image's id
 * @param imageName the image's name, also when it is in the trash
 * @param inTrash whether the image is in the trash
 * @param snapshotId the snapshot's id
 * @param snapshotName the snapshot's name; a made-up one when the snapshot is in the trash
 * @param snapshotNamespace what kind of snapshot it is
 */
public record ParentImage(
    long poolId,
    String poolName,
    String namespace,
    String imageId,
    String imageName,
    boolean inTrash,
    long snapshotId,
    String snapshotName,
    SnapshotNamespace snapshotNamespace) {
  static final int SNAPSHOT_BYTES = 24;

  static ParentImage decode(long image, long snapshot) {
    ChildImage named = ChildImage.decode(image);
    return new ParentImage(
        named.poolId(),
        named.poolName(),
        named.namespace(),
        named.imageId(),
        named.imageName(),
        named.inTrash(),
        NativeMemory.getLong(snapshot),
        NativeMemory.cString(NativeMemory.getLong(snapshot + 16)),
        SnapshotNamespace.of(NativeMemory.getInt(snapshot + 8)));
  }
}
