package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.ClassCall;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.ImageFlag;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * What a list of images says of each, read in one round trip by methods of the object class {@code
 * rbd}, without opening the image. Works for images in the trash as well: see {@link #inTrash}.
 *
 * <pre>
 *   get_size      in  u64 snapshot (2^64-2: the image)                   out  u8 order · u64 size
 *   get_features  in  u64 snapshot · u8 1 (whoever asks only reads)      out  u64 features · u64 of
 *                                                                             them not for all
 *   get_flags     in  u64 snapshot                                       out  u64 flags
 * </pre>
 *
 * @param size in bytes
 * @param features its features
 * @param flags what is wrong with its indexes
 */
public record ImageSummary(long size, Set<ImageFeature> features, Set<ImageFlag> flags) {
  private static final String TRASH_KEY = "id_";

  /**
   * Reads the summary of an image; one round trip.
   *
   * @return empty if there is no image of this id
   */
  public static Optional<ImageSummary> read(IoContext io, String imageId) {
    try (ReadOperation read = new ReadOperation()) {
      var size = RbdClass.ofHead("get_size").addTo(read);
      var features = RbdClass.features().addTo(read);
      var flags = RbdClass.ofHead("get_flags").addTo(read);
      io.operate(ImageHeader.object(imageId), read);
      return Optional.of(
          new ImageSummary(
              number(size.get(), 1),
              ImageFeature.of(number(features.get(), 0)),
              ImageFlag.of(number(flags.get(), 0))));
    } catch (CephException.NotFound e) {
      return Optional.empty();
    }
  }

  /** Which of these images are in the trash of their pool; one round trip for all of them. */
  public static Set<String> inTrash(IoContext io, Collection<String> imageIds) {
    Map<String, String> ids = new LinkedHashMap<>();
    imageIds.forEach(id -> ids.put(TRASH_KEY + id, id));
    Set<String> found = new TreeSet<>();
    if (ids.isEmpty()) {
      return found;
    }
    try (ReadOperation read = new ReadOperation()) {
      var entries = read.omapGetSmallByKeys(ids.keySet());
      io.operate(TrashDirectory.OBJECT, read);
      ids.forEach(
          (key, id) -> {
            if (entries.get().containsKey(key)) {
              found.add(id);
            }
          });
    } catch (CephException.NotFound e) {
      return found; // nothing was ever in the trash
    }
    return found;
  }

  private static long number(byte[] encoded, int at) {
    return ClassCall.output(encoded).getLong(at);
  }
}
