package io.cephcsi.bindings.rbd;

import io.cephcsi.bindings.internal.NativeMemory;
import java.util.Optional;

/**
 * The group that an image is in.
 *
 * @param poolId the pool of the group
 * @param name the group's name
 */
public record GroupName(long poolId, String name) {
  static final int BYTES = 16;
  private static final long NO_POOL = -1;

  /** Of {@code rbd_group_info_t}; empty for an image that is in no group. */
  static Optional<GroupName> decode(long info) {
    long pool = NativeMemory.getLong(info + 8);
    return pool == NO_POOL
        ? Optional.empty()
        : Optional.of(new GroupName(pool, NativeMemory.cString(NativeMemory.getLong(info))));
  }
}
