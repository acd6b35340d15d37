package io.cephcsi.bindings.rbd;

import static io.cephcsi.bindings.error.ReturnCode.check;

import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.internal.GrowingBuffer;
import io.cephcsi.bindings.internal.LibRbd;
import io.cephcsi.bindings.internal.NativeArena;
import io.cephcsi.bindings.internal.NativeHandle;
import io.cephcsi.bindings.internal.NativeMemory;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * What an open image knows of itself. It is refreshed when the header changes, except on an image
 * that was opened read-only. Who asks for one of its relations ({@link #children()}, {@link
 * #watchers()}, {@link #mirroring()}) asks the cluster.
 */
public abstract sealed class ImageProperties extends ImageData permits RbdImage {
  private static final int NAME_BYTES = 128;

  ImageProperties(String path, NativeHandle io, long pointer) {
    super(path, io, pointer);
  }

  private long number(String operation, Getter getter) {
    long image = enter();
    try (NativeArena arena = NativeArena.open()) {
      long cell = arena.cell(0);
      check(getter.get(image, cell), operation, path());
      return arena.getLong(cell);
    } finally {
      exit();
    }
  }

  private String text(String operation, GrowingBuffer.Call call) {
    return GrowingBuffer.read(
        1,
        NAME_BYTES,
        operation,
        path(),
        call,
        (buffer, code, count) -> NativeMemory.cString(buffer));
  }

  /** The id, which never changes ({@code rbd_get_id}). */
  public final String id() {
    long image = enter();
    try {
      return text("rbd_get_id", (to, size, cell) -> LibRbd.rbd_get_id(image, to, size));
    } finally {
      exit();
    }
  }

  /** The name ({@code rbd_get_name}). */
  public final String name() {
    long image = enter();
    try {
      return text("rbd_get_name", (to, size, cell) -> LibRbd.rbd_get_name(image, to, cell));
    } finally {
      exit();
    }
  }

  /** What the names of the data objects begin with ({@code rbd_get_block_name_prefix}). */
  public final String blockNamePrefix() {
    long image = enter();
    try {
      return text(
          "rbd_get_block_name_prefix",
          (to, size, cell) -> LibRbd.rbd_get_block_name_prefix(image, to, size));
    } finally {
      exit();
    }
  }

  /** Size in bytes, of the image or of the snapshot that is active ({@code rbd_get_size}). */
  public final long size() {
    return number("rbd_get_size", LibRbd::rbd_get_size);
  }

  /** Size and layout ({@code rbd_stat}). */
  public final ImageInfo info() {
    long image = enter();
    try (NativeArena arena = NativeArena.open()) {
      long info = arena.allocate(ImageInfo.BYTES);
      check(LibRbd.rbd_stat(image, info, ImageInfo.BYTES), "rbd_stat", path());
      return ImageInfo.decode(info);
    } finally {
      exit();
    }
  }

  /** The features ({@code rbd_get_features}). */
  public final Set<ImageFeature> features() {
    return ImageFeature.of(number("rbd_get_features", LibRbd::rbd_get_features));
  }

  /** What the image takes part in ({@code rbd_get_op_features}). */
  public final Set<OperationFeature> operationFeatures() {
    return OperationFeature.of(number("rbd_get_op_features", LibRbd::rbd_get_op_features));
  }

  /** Whether its indexes can be trusted ({@code rbd_get_flags}); of the active snapshot if any. */
  public final Set<ImageFlag> flags() {
    return ImageFlag.of(number("rbd_get_flags", LibRbd::rbd_get_flags));
  }

  /** Stripe unit in bytes ({@code rbd_get_stripe_unit}). */
  public final long stripeUnit() {
    return number("rbd_get_stripe_unit", LibRbd::rbd_get_stripe_unit);
  }

  /** Over how many objects a stripe goes ({@code rbd_get_stripe_count}). */
  public final long stripeCount() {
    return number("rbd_get_stripe_count", LibRbd::rbd_get_stripe_count);
  }

  /** When the image was created ({@code rbd_get_create_timestamp}). */
  public final Instant createdAt() {
    long image = enter();
    try (NativeArena arena = NativeArena.open()) {
      long time = arena.allocate(Timespec.BYTES);
      check(LibRbd.rbd_get_create_timestamp(image, time), "rbd_get_create_timestamp", path());
      return Timespec.decode(time);
    } finally {
      exit();
    }
  }

  /** The pool of the data objects; the image's own pool when it has no other. */
  public final long dataPoolId() {
    long image = enter();
    try {
      return check(LibRbd.rbd_get_data_pool_id(image), "rbd_get_data_pool_id", path());
    } finally {
      exit();
    }
  }

  /** The snapshot that this image was cloned from ({@code rbd_get_parent}); empty if none. */
  public final Optional<ParentImage> parent() {
    long image = enter();
    try (NativeArena arena = NativeArena.open()) {
      long parent = arena.allocate(ChildImage.BYTES);
      long snapshot = arena.allocate(ParentImage.SNAPSHOT_BYTES);
      int code = LibRbd.rbd_get_parent(image, parent, snapshot);
      if (code == -Errno.ENOENT.number()) {
        return Optional.empty();
      }
      check(code, "rbd_get_parent", path());
      try {
        return Optional.of(ParentImage.decode(parent, snapshot));
      } finally {
        LibRbd.rbd_linked_image_spec_cleanup(parent);
        LibRbd.rbd_snap_spec_cleanup(snapshot);
      }
    } finally {
      exit();
    }
  }

  /** How many bytes from the beginning may still come from the parent ({@code rbd_get_overlap}). */
  public final long overlap() {
    return number("rbd_get_overlap", LibRbd::rbd_get_overlap);
  }

  /**
   * The clones of the active snapshot, or, without one, of no snapshot: call {@link
   * ImageSnapshots#setActive} first ({@code rbd_list_children3}).
   */
  public final List<ChildImage> children() {
    return images("rbd_list_children3", LibRbd::rbd_list_children3);
  }

  /** Clones, their clones and so on, of all snapshots ({@code rbd_list_descendants}); slow. */
  public final List<ChildImage> descendants() {
    return images("rbd_list_descendants", LibRbd::rbd_list_descendants);
  }

  private List<ChildImage> images(String operation, StructArray.Call call) {
    return StructArray.read(
        this,
        operation,
        path(),
        ChildImage.BYTES,
        call,
        LibRbd::rbd_linked_image_spec_list_cleanup,
        ChildImage::decode);
  }

  /** The group that the image is in ({@code rbd_get_group}); empty if none. */
  public final Optional<GroupName> group() {
    long image = enter();
    try (NativeArena arena = NativeArena.open()) {
      long info = arena.allocate(GroupName.BYTES);
      check(LibRbd.rbd_get_group(image, info, GroupName.BYTES), "rbd_get_group", path());
      try {
        return GroupName.decode(info);
      } finally {
        LibRbd.rbd_group_info_cleanup(info, GroupName.BYTES);
      }
    } finally {
      exit();
    }
  }

  /** Who has the image open for writing, this client included ({@code rbd_watchers_list}). */
  public final List<Watcher> watchers() {
    return StructArray.read(
        this,
        "rbd_watchers_list",
        path(),
        Watcher.BYTES,
        LibRbd::rbd_watchers_list,
        LibRbd::rbd_watchers_list_cleanup,
        Watcher::decode);
  }

  /** The mirroring of this image ({@code rbd_mirror_image_get_info}); empty if not mirrored. */
  public final Optional<MirrorInfo> mirroring() {
    long image = enter();
    try (NativeArena arena = NativeArena.open()) {
      long info = arena.allocate(MirrorInfo.BYTES);
      int code = LibRbd.rbd_mirror_image_get_info(image, info, MirrorInfo.BYTES);
      if (code == -Errno.ENOENT.number() || code == -Errno.EINVAL.number()) {
        return Optional.empty();
      }
      check(code, "rbd_mirror_image_get_info", path());
      try {
        return MirrorInfo.decode(info);
      } finally {
        LibRbd.rbd_mirror_image_get_info_cleanup(info);
      }
    } finally {
      exit();
    }
  }

  /** A function that puts a number into a cell. */
  private interface Getter {
    int get(long image, long cell);
  }
}
