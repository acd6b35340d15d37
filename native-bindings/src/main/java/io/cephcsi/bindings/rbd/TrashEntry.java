package io.cephcsi.bindings.rbd;

import io.cephcsi.bindings.internal.NativeMemory;
import java.time.Instant;

/**
 * An image in the trash ({@code rbd_trash_image_info_t}).
 *
 * @param id the image's id, by which it is removed or restored
 * @param name the name that it had
 * @param source who moved it there
 * @param deletedAt when it was moved there
 * @param deferredUntil before this time it is removed by force only
 */
public record TrashEntry(
    String id, String name, TrashSource source, Instant deletedAt, Instant deferredUntil) {
  static final int BYTES = 40;

  static TrashEntry decode(long info) {
    return new TrashEntry(
        NativeMemory.cString(NativeMemory.getLong(info)),
        NativeMemory.cString(NativeMemory.getLong(info + 8)),
        TrashSource.of(NativeMemory.getInt(info + 16)),
        Instant.ofEpochSecond(NativeMemory.getLong(info + 24)),
        Instant.ofEpochSecond(NativeMemory.getLong(info + 32)));
  }
}
