package io.cephcsi.bindings.rbd;

import static io.cephcsi.bindings.error.ReturnCode.check;

import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.internal.GrowingBuffer;
import io.cephcsi.bindings.internal.LibRbd;
import io.cephcsi.bindings.internal.NativeMemory;
import io.cephcsi.bindings.rados.IoContext;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Properties of an open image. librbd keeps them in memory and reads them again when the header
 * changes, except on an image that was opened read-only; {@link #children()}, {@link
 * #descendants()}, {@link #watchers()}, {@link #group()} and {@link #mirroring()} ask the cluster
 * each time.
 */
public abstract sealed class ImageProperties extends ImageData permits RbdImage {
  private static final int NAME_BYTES = 128;

  ImageProperties(String path, IoContext io, long pointer) {
    super(path, io, pointer);
  }

  private long number(String operation, Getter getter) {
    return use(
        (image, arena) -> {
          long cell = arena.cell(0);
          check(getter.get(image, cell), operation, path());
          return arena.getLong(cell);
        });
  }

  private String text(String operation, TextCall call) {
    return use(
        (image, arena) ->
            GrowingBuffer.read(
                1,
                NAME_BYTES,
                operation,
                path(),
                (buffer, size, cell) -> call.get(image, buffer, size, cell),
                (buffer, code, count) -> NativeMemory.cString(buffer)));
  }

  /** The id, which never changes ({@code rbd_get_id}). */
  public final String id() {
    return text("rbd_get_id", (image, to, size, cell) -> LibRbd.rbd_get_id(image, to, size));
  }

  /** The name ({@code rbd_get_name}). */
  public final String name() {
    return text("rbd_get_name", (image, to, size, cell) -> LibRbd.rbd_get_name(image, to, cell));
  }

  /** What the names of the data objects begin with ({@code rbd_get_block_name_prefix}). */
  public final String blockNamePrefix() {
    return text(
        "rbd_get_block_name_prefix",
        (image, to, size, cell) -> LibRbd.rbd_get_block_name_prefix(image, to, size));
  }

  /** Size in bytes, of the image or of the snapshot that is active ({@code rbd_get_size}). */
  public final long size() {
    return number("rbd_get_size", LibRbd::rbd_get_size);
  }

  /** Size and layout ({@code rbd_stat}). */
  public final ImageInfo info() {
    return use(
        (image, arena) -> {
          long info = arena.allocate(ImageInfo.BYTES);
          check(LibRbd.rbd_stat(image, info, ImageInfo.BYTES), "rbd_stat", path());
          return ImageInfo.decode(info);
        });
  }

  /** The features ({@code rbd_get_features}). */
  public final Set<ImageFeature> features() {
    return ImageFeature.of(number("rbd_get_features", LibRbd::rbd_get_features));
  }

  /** The operation features ({@code rbd_get_op_features}). */
  public final Set<OperationFeature> operationFeatures() {
    return OperationFeature.of(number("rbd_get_op_features", LibRbd::rbd_get_op_features));
  }

  /** The flags ({@code rbd_get_flags}); of the active snapshot if any. */
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
    return use(
        (image, arena) -> {
          long time = arena.allocate(Timespec.BYTES);
          check(LibRbd.rbd_get_create_timestamp(image, time), "rbd_get_create_timestamp", path());
          return Timespec.decode(time);
        });
  }

  /**
   * The id of the pool of the data objects ({@code rbd_get_data_pool_id}); the image's own pool
   * without a data pool.
   */
  public final long dataPoolId() {
    return use(
        (image, arena) ->
            check(LibRbd.rbd_get_data_pool_id(image), "rbd_get_data_pool_id", path()));
  }

  /** The snapshot that this image was cloned from ({@code rbd_get_parent}); empty if none. */
  public final Optional<ParentImage> parent() {
    return use(
        (image, arena) -> {
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
        });
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
    return use(
        (image, arena) -> {
          long info = arena.allocate(GroupName.BYTES);
          check(LibRbd.rbd_get_group(image, info, GroupName.BYTES), "rbd_get_group", path());
          try {
            return GroupName.decode(info);
          } finally {
            LibRbd.rbd_group_info_cleanup(info, GroupName.BYTES);
          }
        });
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

  /**
   * As {@link #watchers()}, without those of one client.
   *
   * @param clientId the client's id, of the caller's connection as a rule: {@link
   *     io.cephcsi.bindings.rados.RadosCluster#instanceId()}
   */
  public final List<Watcher> otherWatchers(long clientId) {
    return watchers().stream().filter(watcher -> watcher.clientId() != clientId).toList();
  }

  /** The mirroring of this image ({@code rbd_mirror_image_get_info}); empty if not mirrored. */
  public final Optional<MirrorInfo> mirroring() {
    return use(
        (image, arena) -> {
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
        });
  }

  /** A function that puts text into a buffer, and maybe its size into a cell. */
  private interface TextCall {
    int get(long image, long buffer, long size, long cell);
  }

  /** A function that puts a number into a cell. */
  private interface Getter {
    int get(long image, long cell);
  }
}
