package io.cephcsi.bindings.rbd;

import io.cephcsi.bindings.internal.NativeMemory;

/**
 * The group snapshot that an image's snapshot is part of ({@code rbd_snap_group_namespace_t}).
 *
 * @param groupPoolId the group's pool
 * @param groupName the group's name
 * @param snapshotName the name of the group's snapshot
 */
public record GroupSnapshotRef(long groupPoolId, String groupName, String snapshotName) {
  static final int BYTES = 24;

  static GroupSnapshotRef decode(long namespace) {
    return new GroupSnapshotRef(
        NativeMemory.getLong(namespace),
        NativeMemory.cString(NativeMemory.getLong(namespace + 8)),
        NativeMemory.cString(NativeMemory.getLong(namespace + 16)));
  }
}
