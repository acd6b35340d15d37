package io.cephcsi.driver.reclaim;

import io.cephcsi.driver.volume.VolumeException;
import java.util.Locale;
import java.util.Map;

/**
 * How to reclaim: the {@code reclaim.*} parameters of a request.
 *
 * @param dryRun measure only
 * @param sparseSize zeroed ranges of this many bytes, aligned to it, are freed; a power of two from
 *     4 KiB
 * @param exactUsage measure the usage by exact extents instead of whole objects
 * @param concurrency how many objects are worked on at once; 0 for the cluster's setting
 * @param failInUse whether a volume in use is an error instead of being skipped
 */
public record ReclaimPlan(
    boolean dryRun, long sparseSize, boolean exactUsage, int concurrency, boolean failInUse) {
  /** Plain zeroes of one block are enough. */
  public static final long MIN_SPARSE_SIZE = 4096;

  private static final long MAX_SPARSE_SIZE = 32L << 20;
  private static final int MAX_CONCURRENCY = 1024;
  private static final String PREFIX = "reclaim.";

  /** What is done when the request says nothing. */
  public static final ReclaimPlan DEFAULT =
      new ReclaimPlan(false, MIN_SPARSE_SIZE, false, 0, false);

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
    return switch (key.substring(PREFIX.length())) {
      case "dryRun" ->
          new ReclaimPlan(bool(key, value), sparseSize, exactUsage, concurrency, failInUse);
      case "sparseSize" ->
          new ReclaimPlan(dryRun, sparseSize(key, value), exactUsage, concurrency, failInUse);
      case "exactUsage" ->
          new ReclaimPlan(dryRun, sparseSize, bool(key, value), concurrency, failInUse);
      case "concurrency" ->
          new ReclaimPlan(dryRun, sparseSize, exactUsage, concurrency(key, value), failInUse);
      case "inUse" ->
          new ReclaimPlan(dryRun, sparseSize, exactUsage, concurrency, failInUse(key, value));
      case "method" -> sparsifyOnly(key, value);
      default -> throw VolumeException.invalid("parameters: " + key + " is not known");
    };
  }

  private ReclaimPlan sparsifyOnly(String key, String value) {
    if (!value.equals("sparsify") && !value.equals("both")) {
      throw VolumeException.invalid(
          "parameters: " + key + " must be sparsify or both, not " + value);
    }
    return this;
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
    return switch (value.toLowerCase(Locale.ROOT)) {
      case "true" -> true;
      case "false" -> false;
      default ->
          throw VolumeException.invalid(
              "parameters: " + key + " must be true or false, not " + value);
    };
  }

  private static int concurrency(String key, String value) {
    long number = number(key, value);
    if (number < 1 || number > MAX_CONCURRENCY) {
      throw VolumeException.invalid(
          "parameters: " + key + " must be 1 to " + MAX_CONCURRENCY + ", not " + value);
    }
    return (int) number;
  }

  private static long sparseSize(String key, String value) {
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
}
