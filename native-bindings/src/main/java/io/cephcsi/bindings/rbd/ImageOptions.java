package io.cephcsi.bindings.rbd;

import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;

/**
 * How an image is created or cloned ({@code rbd_image_options_t}). What is not set, the client's
 * Ceph configuration decides, or for a clone the parent. Immutable.
 */
public final class ImageOptions {
  private static final ImageOptions DEFAULTS = builder().build();

  private final Optional<Set<ImageFeature>> features;
  private final OptionalInt order;
  private final OptionalLong stripeUnit;
  private final OptionalLong stripeCount;
  private final Optional<String> dataPool;
  private final OptionalInt cloneFormat;

  private ImageOptions(Builder builder) {
    features = builder.features;
    order = builder.order;
    stripeUnit = builder.stripeUnit;
    stripeCount = builder.stripeCount;
    dataPool = builder.dataPool;
    cloneFormat = builder.cloneFormat;
  }

  /** Nothing set. */
  public static ImageOptions defaults() {
    return DEFAULTS;
  }

  /** Starts with nothing set. */
  public static Builder builder() {
    return new Builder();
  }

  /** The features, all of them. */
  public Optional<Set<ImageFeature>> features() {
    return features;
  }

  /** Size of the objects as a power of two, in bytes. */
  public OptionalInt order() {
    return order;
  }

  /** Stripe unit in bytes. */
  public OptionalLong stripeUnit() {
    return stripeUnit;
  }

  /** Over how many objects a stripe goes. */
  public OptionalLong stripeCount() {
    return stripeCount;
  }

  /** The pool that holds the data. */
  public Optional<String> dataPool() {
    return dataPool;
  }

  /** 1 or 2: whether the parent's snapshot must be protected, or need not be. */
  public OptionalInt cloneFormat() {
    return cloneFormat;
  }

  /** Collects options; not safe for several threads. */
  public static final class Builder {
    private Optional<Set<ImageFeature>> features = Optional.empty();
    private OptionalInt order = OptionalInt.empty();
    private OptionalLong stripeUnit = OptionalLong.empty();
    private OptionalLong stripeCount = OptionalLong.empty();
    private Optional<String> dataPool = Optional.empty();
    private OptionalInt cloneFormat = OptionalInt.empty();

    private Builder() {}

    /** Exactly these features; those that follow from other options are added by librbd. */
    public Builder features(Set<ImageFeature> all) {
      features = Optional.of(Set.copyOf(all));
      return this;
    }

    /**
     * Size of the objects.
     *
     * @param bytes a power of two from 4 KiB to 32 MiB
     */
    public Builder objectSizeBytes(long bytes) {
      if (Long.bitCount(bytes) != 1) {
        throw new IllegalArgumentException("object size " + bytes + " is not a power of two");
      }
      return order(Long.numberOfTrailingZeros(bytes));
    }

    /** Size of the objects as a power of two: 22 for 4 MiB. */
    public Builder order(int powerOfTwo) {
      order = OptionalInt.of(powerOfTwo);
      return this;
    }

    /** Stripe unit in bytes, a divisor of the object size; goes with {@link #stripeCount}. */
    public Builder stripeUnit(long bytes) {
      stripeUnit = OptionalLong.of(bytes);
      return this;
    }

    /** Over how many objects a stripe goes. */
    public Builder stripeCount(long objects) {
      stripeCount = OptionalLong.of(objects);
      return this;
    }

    /** The pool that holds the data; the image's own pool holds the rest. */
    public Builder dataPool(String pool) {
      dataPool = Optional.of(pool);
      return this;
    }

    /** 1 for clones of protected snapshots, 2 for clones of any. */
    public Builder cloneFormat(int format) {
      cloneFormat = OptionalInt.of(format);
      return this;
    }

    /** The options. */
    public ImageOptions build() {
      return new ImageOptions(this);
    }
  }
}
