package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.ClassOutput;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rbd.DataObjects;
import io.cephcsi.bindings.rbd.ImageLayout;
import io.cephcsi.bindings.rbd.SnapshotNamespace;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

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
 *   keys of the omap: object_prefix  string · data_pool_id  i64 (none: the image's own) · those of
 *                     {@link HeaderLayout} and {@link MigrationHeader}
 *   v: u8 version · u8 oldest reader · u32 bytes that follow      string: u32 bytes · bytes
 * </pre>
 *
 * @param size in bytes
 * @param layout how its bytes lie in its objects; empty if no image has them so
 * @param parent the image that it was cloned from
 * @param parentSnapshot the id of the snapshot that it was cloned from; only with a parent
 * @param snapshotIds all its snapshots, of all kinds, newest first
 * @param group the group that it is in
 * @param data where it says that its data are
 * @param migration of an image that is being migrated
 */
public record ImageHeader(
    long size,
    Optional<ImageLayout> layout,
    Optional<ImageLink> parent,
    long parentSnapshot,
    List<Long> snapshotIds,
    Optional<GroupLink> group,
    DataObjects data,
    Optional<MigrationHeader> migration) {
  /** The most bytes that the list of a snapshot's clones may have: some 110,000 clones. */
  static final int CLONES_BYTES = 4 << 20;

  private static final int STEPS = 64;
  private static final String PREFIX = "object_prefix";
  private static final String DATA_POOL = "data_pool_id";
  private static final String MIGRATION = "migration";
  private static final List<String> KEYS =
      Stream.concat(Stream.of(PREFIX, DATA_POOL, MIGRATION), HeaderLayout.KEYS.stream()).toList();

  /** Copies the ids. */
  public ImageHeader {
    snapshotIds = List.copyOf(snapshotIds);
  }

  /** The name of the object that is the header of an image. */
  public static String object(String imageId) {
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
      var values = read.omapGetByKeys(KEYS);
      io.operate(object(imageId), read);
      ParentLink link = parent(parent.get());
      Size bytes = ClassOutput.decode("size of image " + imageId, size.get(), ImageHeader::size);
      return Optional.of(
          new ImageHeader(
              bytes.bytes(),
              HeaderLayout.decode(bytes.bytes(), bytes.order(), values.get()),
              link.image(),
              link.snapshotId(),
              snapshotIds(snapshots.get()),
              group(group.get()),
              data(values.get(), io.poolId()),
              Optional.ofNullable(values.get().get(MIGRATION)).map(MigrationHeader::decode)));
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
    return inDirectory(io, "id_" + imageId);
  }

  /**
   * The id of an image, from the pool's directory: also of one that is only half made or half
   * removed, and has no other trace of its name; one round trip.
   *
   * @return empty if the directory does not know the name
   */
  public static Optional<String> idInDirectory(IoContext io, String name) {
    return inDirectory(io, "name_" + name);
  }

  private static Optional<String> inDirectory(IoContext io, String key) {
    try (ReadOperation read = new ReadOperation()) {
      var values = read.omapGetByKeys(List.of(key));
      io.operate("rbd_directory", read);
      return Optional.ofNullable(values.get().get(key))
          .map(value -> ClassOutput.decode("rbd_directory", value, ClassOutput::string));
    } catch (CephException.NotFound e) {
      return Optional.empty();
    }
  }

  private record Size(int order, long bytes) {}

  private static Size size(ClassOutput in) {
    return new Size(in.u8(), in.u64());
  }

  /** Where an image was cloned from, if it was. */
  record ParentLink(Optional<ImageLink> image, long snapshotId) {}

  static ParentLink parent(byte[] encoded) {
    return ClassOutput.decode(
        "parent",
        encoded,
        in ->
            in.structure(
                content -> {
                  ImageLink link = link(content);
                  return new ParentLink(
                      Optional.of(link).filter(image -> image.poolId() >= 0), content.u64());
                }));
  }

  /** Where the data are; without a prefix, nowhere. */
  static DataObjects data(Map<String, byte[]> values, long ownPool) {
    return new DataObjects(
        Optional.ofNullable(values.get(PREFIX))
            .map(value -> ClassOutput.decode(PREFIX, value, ClassOutput::string))
            .orElse(""),
        Optional.ofNullable(values.get(DATA_POOL))
            .map(value -> ClassOutput.decode(DATA_POOL, value, ClassOutput::u64))
            .filter(pool -> pool >= 0)
            .orElse(ownPool));
  }

  static Optional<GroupLink> group(byte[] encoded) {
    GroupLink link =
        ClassOutput.decode(
            "group",
            encoded,
            in -> in.structure(content -> new GroupLink(content.u64(), content.string())));
    return link.groupId().isEmpty() ? Optional.empty() : Optional.of(link);
  }

  static List<Long> snapshotIds(byte[] encoded) {
    return ClassOutput.decode(
        "snapshot context",
        encoded,
        in -> {
          in.u64(); // the newest
          return in.list(ClassOutput::u64);
        });
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
        results.forEach(result -> snapshots.add(snapshot(result.get())));
      }
    }
    return snapshots;
  }

  static HeaderSnapshot snapshot(byte[] encoded) {
    return ClassOutput.decode("snapshot", encoded, in -> in.structure(ImageHeader::snapshot));
  }

  private static HeaderSnapshot snapshot(ClassOutput in) {
    long id = in.u64();
    Kind kind = in.structure(ImageHeader::kind);
    String name = in.string();
    long size = in.u64();
    long seconds = Integer.toUnsignedLong(in.u32());
    Instant created = Instant.ofEpochSecond(seconds, in.u32());
    return new HeaderSnapshot(
        id, name, kind.namespace(), size, created, kind.part(), kind.mirror());
  }

  private record Kind(
      SnapshotNamespace namespace, Optional<GroupPart> part, Optional<MirrorPart> mirror) {}

  private static Kind kind(ClassOutput in) {
    SnapshotNamespace namespace = SnapshotNamespace.of(in.u32());
    return new Kind(
        namespace,
        namespace == SnapshotNamespace.GROUP
            ? Optional.of(new GroupPart(in.u64(), in.string(), in.string()))
            : Optional.empty(),
        namespace == SnapshotNamespace.MIRROR
            ? Optional.of(MirrorPart.decode(in))
            : Optional.empty());
  }

  /** The clones of a snapshot, those in the trash too; one round trip. */
  public static List<ImageLink> children(IoContext io, String imageId, long snapshotId) {
    byte[] encoded;
    try (ReadOperation read = new ReadOperation().allow(CLONES_BYTES)) {
      var result = RbdClass.call("children_list").u64(snapshotId).addTo(read);
      io.operate(object(imageId), read);
      encoded = result.get();
    } catch (CephException.NotFound e) {
      return List.of();
    }
    return children(encoded);
  }

  static List<ImageLink> children(byte[] encoded) {
    return ClassOutput.decode(
        "children", encoded, in -> in.list(child -> child.structure(ImageHeader::child)));
  }

  private static ImageLink child(ClassOutput in) {
    long pool = in.u64();
    String id = in.string();
    return new ImageLink(pool, in.string(), id);
  }

  private static ImageLink link(ClassOutput in) {
    return new ImageLink(in.u64(), in.string(), in.string());
  }
}
