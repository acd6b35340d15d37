package io.cephcsi.bindings.rbd;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.ClassCall;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ReadOperation;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * What the header of an image says, read in one round trip by methods of the object class {@code
 * rbd}, without opening the image: an open costs ten times as much, and that of a clone opens its
 * parents too. Works for images in the trash as well.
 *
 * <pre>
 *   get_size         in  u64 snapshot (2^64-2: the image)   out  u8 order · u64 size
 *   parent_get       in  -                                  out  v · i64 pool (-1: none) · string
 *                                                                namespace · string image · u64 snapshot
 *   get_snapcontext  in  -                                  out  u64 newest · u32 n · n × u64
 *   snapshot_get     in  u64 snapshot                       out  v · u64 id · v (u32 kind ...) ·
 *                                                                string name · u64 size · u32 s · u32 ns
 *   image_group_get  in  -                                  out  v · i64 pool · string group (empty:
 *                                                                none)
 *   children_list    in  u64 snapshot                       out  u32 n · n × v (i64 pool · string
 *                                                                image · string namespace)
 *   v: u8 version · u8 oldest reader · u32 bytes that follow      string: u32 bytes · bytes
 * </pre>
 *
 * @param size in bytes
 * @param parent the image that it was cloned from
 * @param snapshotIds all its snapshots, of all kinds, newest first
 * @param group the group that it is in
 */
public record ImageHeader(
    long size, Optional<ImageLink> parent, List<Long> snapshotIds, Optional<GroupLink> group) {
  private static final int STEPS = 64;

  /** Copies the ids. */
  public ImageHeader {
    snapshotIds = List.copyOf(snapshotIds);
  }

  private static String object(String imageId) {
    return "rbd_header." + imageId;
  }

  /**
   * Reads a header; one round trip.
   *
   * @return empty if there is no image of this id
   */
  public static Optional<ImageHeader> read(IoContext io, String imageId) {
    try (ReadOperation read = new ReadOperation()) {
      var size = RbdClass.ofHead("get_size").addTo(read);
      var parent = RbdClass.call("parent_get").addTo(read);
      var snapshots = RbdClass.call("get_snapcontext").addTo(read);
      var group = RbdClass.call("image_group_get").addTo(read);
      io.operate(object(imageId), read);
      return Optional.of(
          new ImageHeader(
              ClassCall.output(size.get()).getLong(1),
              parent(parent.get()),
              snapshotIds(snapshots.get()),
              group(group.get())));
    } catch (CephException.NotFound e) {
      return Optional.empty();
    }
  }

  /**
   * The name of an image, from the pool's directory; one round trip.
   *
   * @return empty if there is no image of this id, or it is in the trash
   */
  public static Optional<String> name(IoContext io, String imageId) {
    String key = "id_" + imageId;
    try (ReadOperation read = new ReadOperation()) {
      var values = read.omapGetByKeys(List.of(key));
      io.operate("rbd_directory", read);
      return Optional.ofNullable(values.get().get(key))
          .map(value -> string(ClassCall.output(value)));
    } catch (CephException.NotFound e) {
      return Optional.empty();
    }
  }

  /**
   * The id of an image, from the pool's directory: also of one that is only half made or half
   * removed, and has no other trace of its name; one round trip.
   *
   * @return empty if the directory does not know the name
   */
  public static Optional<String> idInDirectory(IoContext io, String name) {
    String key = "name_" + name;
    try (ReadOperation read = new ReadOperation()) {
      var values = read.omapGetByKeys(List.of(key));
      io.operate("rbd_directory", read);
      return Optional.ofNullable(values.get().get(key))
          .map(value -> string(ClassCall.output(value)));
    } catch (CephException.NotFound e) {
      return Optional.empty();
    }
  }

  private static Optional<ImageLink> parent(byte[] encoded) {
    ImageLink link = link(ClassCall.output(encoded));
    return link.poolId() < 0 ? Optional.empty() : Optional.of(link);
  }

  private static Optional<GroupLink> group(byte[] encoded) {
    ByteBuffer in = ClassCall.output(encoded);
    structure(in);
    GroupLink link = new GroupLink(in.getLong(), string(in));
    return link.groupId().isEmpty() ? Optional.empty() : Optional.of(link);
  }

  private static List<Long> snapshotIds(byte[] encoded) {
    ByteBuffer in = ClassCall.output(encoded);
    in.getLong();
    int count = in.getInt();
    List<Long> ids = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      ids.add(in.getLong());
    }
    return ids;
  }

  /**
   * Reads snapshots; one round trip for every 64.
   *
   * @param ids which
   * @throws CephException.NotFound if one of them, or the image, was removed meanwhile
   */
  public static List<HeaderSnapshot> snapshots(IoContext io, String imageId, List<Long> ids) {
    List<HeaderSnapshot> snapshots = new ArrayList<>(ids.size());
    for (int from = 0; from < ids.size(); from += STEPS) {
      try (ReadOperation read = new ReadOperation()) {
        List<ReadOperation.Result<byte[]>> results = new ArrayList<>();
        for (long id : ids.subList(from, Math.min(ids.size(), from + STEPS))) {
          results.add(RbdClass.call("snapshot_get").u64(id).addTo(read));
        }
        io.operate(object(imageId), read);
        results.forEach(result -> snapshots.add(snapshot(ClassCall.output(result.get()))));
      }
    }
    return snapshots;
  }

  private static HeaderSnapshot snapshot(ByteBuffer in) {
    structure(in);
    long id = in.getLong();
    int end = structure(in);
    SnapshotNamespace namespace = SnapshotNamespace.of(in.getInt());
    in.position(end);
    String name = string(in);
    long size = in.getLong();
    long seconds = Integer.toUnsignedLong(in.getInt());
    return new HeaderSnapshot(
        id, name, namespace, size, Instant.ofEpochSecond(seconds, in.getInt()));
  }

  /** The clones of a snapshot, those in the trash too; one round trip. */
  public static List<ImageLink> children(IoContext io, String imageId, long snapshotId) {
    byte[] encoded;
    try (ReadOperation read = new ReadOperation()) {
      var result = RbdClass.call("children_list").u64(snapshotId).addTo(read);
      io.operate(object(imageId), read);
      encoded = result.get();
    } catch (CephException.NotFound e) {
      return List.of();
    }
    ByteBuffer in = ClassCall.output(encoded);
    int count = in.getInt();
    List<ImageLink> children = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      int end = in.position() + 6 + in.getInt(in.position() + 2);
      structure(in);
      long pool = in.getLong();
      String id = string(in);
      children.add(new ImageLink(pool, string(in), id));
      in.position(end);
    }
    return children;
  }

  private static ImageLink link(ByteBuffer in) {
    structure(in);
    return new ImageLink(in.getLong(), string(in), string(in));
  }

  /** Enters a versioned structure; returns where it ends. */
  private static int structure(ByteBuffer in) {
    in.getShort();
    int length = in.getInt();
    return in.position() + length;
  }

  private static String string(ByteBuffer in) {
    byte[] bytes = new byte[in.getInt()];
    in.get(bytes);
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
