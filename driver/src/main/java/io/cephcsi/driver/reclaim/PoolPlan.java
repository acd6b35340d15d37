package io.cephcsi.driver.reclaim;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/**
 * Which images of a pool are trimmed, in which order, and why the others are not. Immutable.
 *
 * @param chosen in the order of their benefit for the time that they take
 * @param left in the order of their reasons
 */
public record PoolPlan(List<ImageEstimate> chosen, List<PoolPlan.Left> left) {
  /** Copies the lists. */
  public PoolPlan {
    chosen = List.copyOf(chosen);
    left = List.copyOf(left);
  }

  /**
   * An image that is not trimmed.
   *
   * @param reason as a word
   * @param detail as a sentence
   */
  public record Left(ImageEstimate image, String reason, String detail) {}

  /**
   * Chooses.
   *
   * @param top how many images at most; 0 for all
   * @param minBytes those that would give less are left
   */
  public static PoolPlan of(Collection<ImageEstimate> images, int top, long minBytes) {
    List<ImageEstimate> chosen = new ArrayList<>();
    List<Left> left = new ArrayList<>();
    for (ImageEstimate image : images.stream().sorted(ImageEstimate.BY_BENEFIT).toList()) {
      if (image.trim().isSkipped()) {
        left.add(new Left(image, image.trim().reason(), image.trim().detail()));
      } else if (image.bytes() == 0) {
        left.add(new Left(image, "nothing_to_free", "all that is free is freed"));
      } else if (image.bytes() < minBytes) {
        String less = image.bytes() + " bytes are less than asked for";
        left.add(new Left(image, "below_min_bytes", less));
      } else if (top > 0 && chosen.size() == top) {
        left.add(new Left(image, "beyond_top", "others give more for the time that they take"));
      } else {
        chosen.add(image);
      }
    }
    left.sort(java.util.Comparator.comparing(Left::reason));
    return new PoolPlan(chosen, left);
  }

  /** The bytes of all that is chosen; the greatest number there is, where it is more. */
  public long bytes() {
    return chosen.stream().mapToLong(ImageEstimate::bytes).reduce(0, PoolPlan::sum);
  }

  /** Adds numbers that are not negative, up to the greatest that there is. */
  public static long sum(long one, long other) {
    return one > Long.MAX_VALUE - other ? Long.MAX_VALUE : one + other;
  }
}
