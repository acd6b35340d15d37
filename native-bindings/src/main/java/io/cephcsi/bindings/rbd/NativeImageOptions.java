package io.cephcsi.bindings.rbd;

import static io.cephcsi.bindings.error.ReturnCode.check;

import io.cephcsi.bindings.internal.LibRbd;
import io.cephcsi.bindings.internal.NativeArena;

/** {@link ImageOptions} as librbd takes them; owned by one call and closed after it. */
final class NativeImageOptions implements AutoCloseable {
  private static final int FEATURES = 1;
  private static final int ORDER = 2;
  private static final int STRIPE_UNIT = 3;
  private static final int STRIPE_COUNT = 4;
  private static final int DATA_POOL = 10;
  private static final int CLONE_FORMAT = 12;

  private final long pointer;

  private NativeImageOptions(long pointer) {
    this.pointer = pointer;
  }

  static NativeImageOptions of(ImageOptions options) {
    try (NativeArena arena = NativeArena.open()) {
      long out = arena.cell(0);
      LibRbd.rbd_image_options_create(out);
      NativeImageOptions made = new NativeImageOptions(arena.getLong(out));
      try {
        made.setAll(options, arena);
        return made;
      } catch (RuntimeException e) {
        made.close();
        throw e;
      }
    }
  }

  private void setAll(ImageOptions options, NativeArena arena) {
    options.features().ifPresent(features -> set(FEATURES, ImageFeature.mask(features)));
    options.order().ifPresent(order -> set(ORDER, order));
    options.stripeUnit().ifPresent(bytes -> set(STRIPE_UNIT, bytes));
    options.stripeCount().ifPresent(count -> set(STRIPE_COUNT, count));
    options.cloneFormat().ifPresent(format -> set(CLONE_FORMAT, format));
    options
        .dataPool()
        .ifPresent(
            pool ->
                check(
                    LibRbd.rbd_image_options_set_string(pointer, DATA_POOL, arena.cString(pool)),
                    "rbd_image_options_set_string",
                    pool));
  }

  private void set(int option, long value) {
    check(
        LibRbd.rbd_image_options_set_uint64(pointer, option, value),
        "rbd_image_options_set_uint64",
        "option " + option);
  }

  long pointer() {
    return pointer;
  }

  @Override
  public void close() {
    LibRbd.rbd_image_options_destroy(pointer);
  }
}
