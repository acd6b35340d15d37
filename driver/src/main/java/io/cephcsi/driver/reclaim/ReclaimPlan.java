package io.cephcsi.driver.reclaim;

import io.cephcsi.driver.volume.Booleans;
import io.cephcsi.driver.volume.VolumeException;
import java.util.HashMap;
import java.util.Map;

/**
 * How to reclaim: the {@code reclaim.*} parameters of a request.
 *
 * @param dryRun measure only
 * @param sparseSize zeroed ranges of this many bytes, aligned to it, are freed; a power of two from
 *     4 KiB; 0 for the smallest that frees anything
 * @param exactUsage measure the usage by exact extents instead of whole objects
 * @param concurrency how many objects are worked on at once; 0 for the cluster's setting
 * @param maxBytesPerSecond how many allocated bytes are worked on in a second at most; 0 for no
 *     limit
 * @param failInUse whether a volume in use is an error instead of being skipped
 * @param method by which means
 * @param enableLock whether an image without the feature exclusive-lock gets it, so that it can be
 *     trimmed
 * @param trimGranularity the shortest range that a trim discards inside an object, in bytes, and
 *     what its ends are multiples of; a power of two from 4 KiB
 * @param thick whether images that were provisioned thick are reclaimed, too
 * @param decrypt whether the file system of an encrypted volume is read, by its passphrase
 */
public record ReclaimPlan(
    boolean dryRun,
    long sparseSize,
    boolean exactUsage,
    int concurrency,
    long maxBytesPerSecond,
    boolean failInUse,
    ReclaimMethod method,
    boolean enableLock,
    long trimGranularity,
    boolean thick,
    boolean decrypt) {
  /** What librbd rounds discards to unless it is told otherwise. */
  public static final long DEFAULT_TRIM_GRANULARITY = 64 << 10;

  /** Of sparsify: librbd takes none below. */
  static final long MIN_SPARSE_SIZE = 4096;

  private static final long MAX_SPARSE_SIZE = 32L << 20;
  private static final int MAX_CONCURRENCY = 1024;
  private static final long MIN_RATE = 1 << 20;
  private static final int SLOW_CONCURRENCY = 2; // few in flight, so that the rate is smooth
  private static final String PREFIX = "reclaim.";

  /** Options that the connection needs for this plan. */
  public Map<String, String> connectionOptions() {
    Map<String, String> options = new HashMap<>();
    if (concurrency > 0 || maxBytesPerSecond > 0) {
      options.put("rbd_concurrent_management_ops", Integer.toString(atOnce(0)));
    }
    if (trimGranularity != DEFAULT_TRIM_GRANULARITY) {
      options.put("rbd_discard_granularity_bytes", Long.toString(trimGranularity));
    }
    return options;
  }

  /**
   * How many images can be worked on at once by {@link #sharedBy}, at most as many as asked for.
   */
  public int sharers(int most) {
    return maxBytesPerSecond == 0 ? most : (int) Math.min(most, maxBytesPerSecond / MIN_RATE);
  }

  /** The plan for one of several images that are worked on at once, and share the rate. */
  public ReclaimPlan sharedBy(int images) {
    Builder each = new Builder(this);
    each.maxBytesPerSecond = maxBytesPerSecond / images;
    return each.build();
  }

  /** How many objects are worked on at once, if the plan does not leave it open. */
  int atOnce(int otherwise) {
    return concurrency > 0 ? concurrency : maxBytesPerSecond > 0 ? SLOW_CONCURRENCY : otherwise;
  }

  /** What is done when the request says nothing. */
  public static final ReclaimPlan DEFAULT =
      new ReclaimPlan(
          false,
          0,
          false,
          0,
          0,
          false,
          ReclaimMethod.BOTH,
          false,
          DEFAULT_TRIM_GRANULARITY,
          false,
          false);

  /**
   * Reads the parameters; others than {@code reclaim.*} are not ours and ignored.
   *
   * @throws VolumeException INVALID_ARGUMENT for an unknown key or a value that cannot be meant
   */
  public static ReclaimPlan parse(Map<String, String> parameters) {
    ReclaimPlan plan = DEFAULT;
    for (Map.Entry<String, String> parameter : parameters.entrySet()) {
      if (parameter.getKey().startsWith(PREFIX)) {
        plan = plan.with(parameter.getKey(), parameter.getValue().strip());
      }
    }
    return plan;
  }

  private ReclaimPlan with(String key, String value) {
    Builder plan = new Builder(this);
    switch (key.substring(PREFIX.length())) {
      case "dryRun" -> plan.dryRun = bool(key, value);
      case "sparseSize" -> plan.sparseSize = powerOfTwo(key, value);
      case "exactUsage" -> plan.exactUsage = bool(key, value);
      case "concurrency" -> plan.concurrency = concurrency(key, value);
      case "maxBytesPerSecond" -> plan.maxBytesPerSecond = rate(key, value);
      case "inUse" -> plan.failInUse = failInUse(key, value);
      case "method" -> plan.method = method(key, value);
      case "enableLock" -> plan.enableLock = bool(key, value);
      case "trimGranularity" -> plan.trimGranularity = powerOfTwo(key, value);
      case "thick" -> plan.thick = bool(key, value);
      case "decrypt" -> plan.decrypt = bool(key, value);
      default -> throw VolumeException.invalid("parameters: " + key + " is not known");
    }
    return plan.build();
  }

  private static ReclaimMethod method(String key, String value) {
    return switch (value) {
      case "trim" -> ReclaimMethod.TRIM;
      case "sparsify" -> ReclaimMethod.SPARSIFY;
      case "both" -> ReclaimMethod.BOTH;
      default ->
          throw VolumeException.invalid(
              "parameters: " + key + " must be trim, sparsify or both, not " + value);
    };
  }

  private static long rate(String key, String value) {
    long bytes = number(key, value);
    if (bytes < MIN_RATE) {
      throw VolumeException.invalid(
          "parameters: " + key + " must be at least " + MIN_RATE + ", not " + value);
    }
    return bytes;
  }

  private static boolean failInUse(String key, String value) {
    return switch (value) {
      case "skip" -> false;
      case "fail" -> true;
      default ->
          throw VolumeException.invalid(
              "parameters: " + key + " must be skip or fail, not " + value);
    };
  }

  private static boolean bool(String key, String value) {
    return Booleans.isTrue("parameters", Map.of(key, value), key);
  }

  private static int concurrency(String key, String value) {
    long number = number(key, value);
    if (number < 1 || number > MAX_CONCURRENCY) {
      throw VolumeException.invalid(
          "parameters: " + key + " must be 1 to " + MAX_CONCURRENCY + ", not " + value);
    }
    return (int) number;
  }

  private static long powerOfTwo(String key, String value) {
    long size = number(key, value);
    if (size < MIN_SPARSE_SIZE || size > MAX_SPARSE_SIZE || Long.bitCount(size) != 1) {
      throw VolumeException.invalid(
          "parameters: "
              + key
              + " must be a power of two from "
              + MIN_SPARSE_SIZE
              + " to "
              + MAX_SPARSE_SIZE
              + " bytes, not "
              + value);
    }
    return size;
  }

  private static long number(String key, String value) {
    try {
      return Long.parseLong(value);
    } catch (NumberFormatException e) {
      throw VolumeException.invalid("parameters: " + key + " must be a whole number, not " + value);
    }
  }

  /** A plan in the making. */
  private static final class Builder {
    private boolean dryRun;
    private long sparseSize;
    private boolean exactUsage;
    private int concurrency;
    private long maxBytesPerSecond;
    private boolean failInUse;
    private ReclaimMethod method;
    private boolean enableLock;
    private long trimGranularity;
    private boolean thick;
    private boolean decrypt;

    Builder(ReclaimPlan plan) {
      dryRun = plan.dryRun;
      sparseSize = plan.sparseSize;
      exactUsage = plan.exactUsage;
      concurrency = plan.concurrency;
      maxBytesPerSecond = plan.maxBytesPerSecond;
      failInUse = plan.failInUse;
      method = plan.method;
      enableLock = plan.enableLock;
      trimGranularity = plan.trimGranularity;
      thick = plan.thick;
      decrypt = plan.decrypt;
    }

    ReclaimPlan build() {
      return new ReclaimPlan(
          dryRun,
          sparseSize,
          exactUsage,
          concurrency,
          maxBytesPerSecond,
          failInUse,
          method,
          enableLock,
          trimGranularity,
          thick,
          decrypt);
    }
  }
}
