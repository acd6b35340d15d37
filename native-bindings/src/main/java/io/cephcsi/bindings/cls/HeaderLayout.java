package io.cephcsi.bindings.cls;

import io.cephcsi.bindings.rados.ClassCall;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.ImageLayout;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * How the header of an image says that its bytes lie in objects. librbd reads the keys about
 * stripes of an image with the feature for them only.
 *
 * <pre>
 *   keys of the omap: features  u64 · stripe_unit  u64 · stripe_count  u64
 * </pre>
 */
final class HeaderLayout {
  static final String FEATURES = "features";

  private static final String STRIPE_UNIT = "stripe_unit";
  private static final String STRIPE_COUNT = "stripe_count";

  /** The keys to read. */
  static final List<String> KEYS = List.of(FEATURES, STRIPE_UNIT, STRIPE_COUNT);

  private HeaderLayout() {}

  /**
   * Decodes the layout; what is missing, as in a header that is half made, is as in an image
   * without stripes.
   *
   * @return empty if no image has such a layout, or a value is not of its size
   */
  static Optional<ImageLayout> decode(long size, int order, Map<String, byte[]> values) {
    if (!KEYS.stream().allMatch(key -> isNumber(values.get(key)))) {
      return Optional.empty();
    }
    boolean striped =
        ImageFeature.of(number(values, FEATURES, 0)).contains(ImageFeature.STRIPINGV2);
    long objectSize = 1L << order;
    return ImageLayout.possible(
        size,
        order,
        striped ? number(values, STRIPE_UNIT, objectSize) : objectSize,
        striped ? number(values, STRIPE_COUNT, 1) : 1);
  }

  private static boolean isNumber(byte @Nullable [] value) {
    return value == null || value.length == Long.BYTES;
  }

  /** A number of eight bytes. */
  static long number(Map<String, byte[]> values, String key, long otherwise) {
    byte[] value = values.get(key);
    return value == null || value.length != Long.BYTES
        ? otherwise
        : ClassCall.output(value).getLong();
  }
}
