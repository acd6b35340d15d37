package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.ClassCall;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.ImageMetadata;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * The metadata of an image, by the calls of the object class {@code rbd} that librbd would make:
 * without opening the image, and without its exclusive lock. Clients that have the image open read
 * the changes with the next refresh of the header, which {@link HeaderNotification#tellWatchers}
 * requests. With the feature {@link ImageFeature#JOURNALING} changes are not replicated to mirrors:
 * use {@link ImageMetadata} then.
 *
 * <pre>
 *   rbd_header.ID    omap               metadata_KEY → value
 *                                       features → u64
 *                    metadata_set       u32 n · n × (string key · string value)
 *                    metadata_remove    string key
 * </pre>
 */
public final class HeaderMetadata {
  private static final String PREFIX = "metadata_";
  private static final String FEATURES = "features";

  private HeaderMetadata() {}

  /** Those of the keys that an image has, with their values; one round trip. */
  public static Map<String, String> read(IoContext io, String imageId, Collection<String> keys) {
    List<String> stored = keys.stream().map(key -> PREFIX + key).toList();
    try (ReadOperation read = new ReadOperation()) {
      var values = read.omapGetByKeys(stored);
      io.operate(ImageHeader.object(imageId), read);
      Map<String, String> found = new LinkedHashMap<>();
      values
          .get()
          .forEach(
              (key, value) ->
                  found.put(
                      key.substring(PREFIX.length()), new String(value, StandardCharsets.UTF_8)));
      return found;
    }
  }

  /** Whether changes of an image are to be journaled, which only librbd does; one round trip. */
  public static boolean isJournaled(IoContext io, String imageId) {
    try (ReadOperation read = new ReadOperation()) {
      var values = read.omapGetByKeys(List.of(FEATURES));
      io.operate(ImageHeader.object(imageId), read);
      byte[] features = values.get().get(FEATURES);
      return features != null
          && (ByteBuffer.wrap(features).order(ByteOrder.LITTLE_ENDIAN).getLong()
                  & ImageFeature.JOURNALING.mask())
              != 0;
    }
  }

  /**
   * Sets and removes keys, all together or none; one round trip, or none when there is nothing to
   * do.
   *
   * @param removed keys that the image has
   * @throws io.cephcsi.bindings.error.CephException.NotFound if there is no such image
   */
  public static void change(
      IoContext io, String imageId, Map<String, String> set, Collection<String> removed) {
    if (set.isEmpty() && removed.isEmpty()) {
      return;
    }
    try (WriteOperation write = new WriteOperation()) {
      write.assertExists();
      removed.forEach(key -> RbdClass.call("metadata_remove").string(key).addTo(write));
      addSet(write, set);
      io.operate(ImageHeader.object(imageId), write);
    }
  }

  /**
   * Sets keys, all together, if one has a value; one round trip.
   *
   * @param expected the value; empty for a key that is not there
   * @return whether they were set
   * @throws io.cephcsi.bindings.error.CephException.NotFound if there is no such image
   */
  public static boolean changeIf(
      IoContext io, String imageId, String key, String expected, Map<String, String> set) {
    return operateIf(io, imageId, key, expected, write -> addSet(write, set));
  }

  /**
   * Removes a key if it has a value; one round trip.
   *
   * @return whether it was removed
   * @throws io.cephcsi.bindings.error.CephException.NotFound if there is no such image
   */
  public static boolean removeIf(IoContext io, String imageId, String key, String expected) {
    return operateIf(
        io,
        imageId,
        key,
        expected,
        write -> RbdClass.call("metadata_remove").string(key).addTo(write));
  }

  private static boolean operateIf(
      IoContext io, String imageId, String key, String expected, Consumer<WriteOperation> change) {
    try (WriteOperation write = new WriteOperation()) {
      write.assertExists().omapCompare(PREFIX + key, expected.getBytes(StandardCharsets.UTF_8));
      change.accept(write);
      io.operate(ImageHeader.object(imageId), write);
      return true;
    } catch (CephException.Canceled e) {
      return false;
    }
  }

  private static void addSet(WriteOperation write, Map<String, String> set) {
    if (!set.isEmpty()) {
      ClassCall call = RbdClass.call("metadata_set").u32(set.size());
      set.forEach((key, value) -> call.string(key).string(value));
      call.addTo(write);
    }
  }
}
