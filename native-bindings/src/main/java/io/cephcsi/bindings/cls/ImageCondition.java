package io.cephcsi.bindings.cls;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.ClassCall;
import io.cephcsi.bindings.rados.ClassOutput;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rbd.DataObjects;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.ImageFlag;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * What a check of an image needs of its header, read in one round trip without opening the image;
 * see {@link ImageHeader} and {@link ImageSummary} for the methods of the object class.
 *
 * @param size in bytes
 * @param order the size of an object as a power of two
 * @param features its features
 * @param flags what is wrong with its indexes
 * @param snapshotIds all its snapshots, of all kinds, newest first
 * @param group the group that it is in
 * @param parent the image that it was cloned from
 * @param parentSnapshot the id of the snapshot that it was cloned from; only with a parent
 * @param data where it says that its data are
 * @param metadata those of the asked keys that it has, with their values
 * @param attributes the names of the header object's extended attributes, such as {@code
 *     lock.rbd_lock}
 */
public record ImageCondition(
    long size,
    int order,
    Set<ImageFeature> features,
    Set<ImageFlag> flags,
    List<Long> snapshotIds,
    Optional<GroupLink> group,
    Optional<ImageLink> parent,
    long parentSnapshot,
    DataObjects data,
    Map<String, String> metadata,
    Set<String> attributes) {
  private static final String PREFIX = "object_prefix";
  private static final String DATA_POOL = "data_pool_id";
  private static final String METADATA = "metadata_";

  /** Copies the collections. */
  public ImageCondition {
    features = Set.copyOf(features);
    flags = Set.copyOf(flags);
    snapshotIds = List.copyOf(snapshotIds);
    metadata = Map.copyOf(metadata);
    attributes = Set.copyOf(attributes);
  }

  /**
   * Reads it; one round trip.
   *
   * @param keys of the image's metadata to ask for
   * @return empty if there is no image of this id
   * @throws CephException EBADMSG and others when the header is damaged
   */
  public static Optional<ImageCondition> read(
      IoContext io, String imageId, Collection<String> keys) {
    List<String> asked =
        Stream.concat(Stream.of(PREFIX, DATA_POOL), keys.stream().map(key -> METADATA + key))
            .toList();
    try (ReadOperation read = new ReadOperation()) {
      var size = RbdClass.ofHead("get_size").addTo(read);
      var features = RbdClass.features().addTo(read);
      var flags = RbdClass.ofHead("get_flags").addTo(read);
      var snapshots = RbdClass.call("get_snapcontext").addTo(read);
      var group = RbdClass.call("image_group_get").addTo(read);
      var parent = RbdClass.call("parent_get").addTo(read);
      var values = read.omapGetByKeys(asked);
      var attributes = read.getXattrs();
      io.operate(ImageHeader.object(imageId), read);
      Map<String, byte[]> omap = values.get();
      ImageHeader.ParentLink link = ImageHeader.parent(parent.get());
      return Optional.of(
          new ImageCondition(
              number("size", size.get(), 1),
              ClassOutput.decode("size", size.get(), ClassOutput::u8),
              ImageFeature.of(number("features", features.get(), 0)),
              ImageFlag.of(number("flags", flags.get(), 0)),
              ImageHeader.snapshotIds(snapshots.get()),
              ImageHeader.group(group.get()),
              link.image(),
              link.snapshotId(),
              ImageHeader.data(omap, io.poolId()),
              metadata(omap),
              attributes.get().keySet()));
    } catch (CephException.NotFound e) {
      return Optional.empty();
    }
  }

  private static Map<String, String> metadata(Map<String, byte[]> omap) {
    Map<String, String> metadata = new HashMap<>();
    omap.forEach(
        (key, value) -> {
          if (key.startsWith(METADATA)) {
            metadata.put(key.substring(METADATA.length()), new String(value, UTF_8));
          }
        });
    return metadata;
  }

  /** How many objects its head has room for. */
  public long objects() {
    long objectSize = 1L << Math.min(Math.max(order, 0), 62);
    return size / objectSize + (size % objectSize == 0 ? 0 : 1);
  }

  private static long number(String what, byte[] encoded, int at) {
    return ClassOutput.decode(
        what,
        encoded,
        in -> {
          for (int i = 0; i < at; i++) {
            in.u8();
          }
          return in.u64();
        });
  }

  /** Whether the header is there at all; one round trip. */
  public static boolean exists(IoContext io, String imageId) {
    return io.exists(ImageHeader.object(imageId));
  }

  /**
   * Makes a name lead to an image again, where the name's object or the directory's keys are lost
   * and nothing else has them; ten round trips. Whatever dies in between, a repeated call ends it.
   *
   * <p>An image that is moved to the trash meanwhile keeps no name: the move writes the entry of
   * the trash first and takes the name away last, so it either takes this one away, too, or its
   * entry is seen here at the end.
   *
   * @return false if another image has the name, or the image has another name, is in the trash, or
   *     gone
   */
  public static boolean restoreName(IoContext io, String name, String imageId) {
    if (!isOutOfTrash(io, imageId)
        || !isFree(io, name, imageId)
        || !restoreIdObject(io, name, imageId)
        || !restoreDirectory(io, name, imageId)) {
      return false;
    }
    if (!isOutOfTrash(io, imageId)) {
      NameRemoval.remove(io, name, imageId);
      return false;
    }
    return true;
  }

  private static boolean isOutOfTrash(IoContext io, String imageId) {
    return exists(io, imageId) && !TrashMark.isInTrash(io, imageId);
  }

  /**
   * Whether the directory knows neither another image of the name nor another name of the image.
   */
  private static boolean isFree(IoContext io, String name, String imageId) {
    return ImageHeader.name(io, imageId).map(name::equals).orElse(true)
        && ImageHeader.idInDirectory(io, name).map(imageId::equals).orElse(true);
  }

  private static boolean restoreIdObject(IoContext io, String name, String imageId) {
    byte[] content = ClassCall.content().string(imageId).input();
    try (var write = new io.cephcsi.bindings.rados.WriteOperation()) {
      io.operate("rbd_id." + name, write.createExclusive().writeFull(content));
      return true;
    } catch (CephException.AlreadyExists e) {
      return ImageId.find(new io.cephcsi.bindings.rbd.RbdPool(io), name)
          .equals(Optional.of(imageId));
    }
  }

  private static boolean restoreDirectory(IoContext io, String name, String imageId) {
    byte[] id = ClassCall.content().string(imageId).input();
    byte[] text = ClassCall.content().string(name).input();
    Optional<String> byId = ImageHeader.name(io, imageId);
    Optional<String> byName = ImageHeader.idInDirectory(io, name);
    if (!byId.map(name::equals).orElse(true) || !byName.map(imageId::equals).orElse(true)) {
      return false;
    }
    byte[] nothing = {};
    try (var write = new io.cephcsi.bindings.rados.WriteOperation()) {
      write.assertExists();
      write.omapCompare("name_" + name, byName.isPresent() ? id : nothing);
      write.omapCompare("id_" + imageId, byId.isPresent() ? text : nothing);
      write.omapSet("name_" + name, id).omapSet("id_" + imageId, text);
      io.operate("rbd_directory", write);
      return true;
    } catch (CephException.Canceled | CephException.NotFound e) {
      return false;
    }
  }
}
