package io.cephcsi.driver.cli;

import io.cephcsi.driver.reclaim.ImageEstimate;
import io.cephcsi.driver.reclaim.PoolPlan;
import io.cephcsi.driver.volume.PlainText;
import java.time.Instant;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What trims of the images of a pool would give, as metrics for node_exporter's collector of text
 * files. The number of series is bounded, whatever the pool has. Immutable.
 *
 * @param pool its name
 * @param namespace empty for the default one
 * @param left what is not trimmed yet
 */
record ReclaimMetrics(String pool, String namespace, List<ImageEstimate> left) {
  /** How many images have a series of their own. */
  static final int MOST_IMAGES = 500;

  private static final int LONGEST = 200;

  ReclaimMetrics {
    left = List.copyOf(left);
  }

  /** Of the images of a pool that were not trimmed since they were estimated. */
  static ReclaimMetrics of(
      String pool, String namespace, Collection<ImageEstimate> images, PoolState state) {
    return new ReclaimMetrics(
        pool,
        namespace,
        images.stream()
            .filter(image -> state.outcome(image).filter(PoolOutcome::isLast).isEmpty())
            .toList());
  }

  /**
   * The text.
   *
   * @param most how many images have a series of their own: those that give most
   */
  String text(int most, Instant now) {
    PoolPlan plan = PoolPlan.of(left, 0, 0);
    StringBuilder text = new StringBuilder();
    head(text, "image_bytes", "What a trim of an image would discard, of those that give most.");
    // Two images of one name are damage; a series that is there twice spoils the file.
    Map<String, Long> images = new LinkedHashMap<>();
    plan.chosen().stream()
        .filter(image -> !image.name().isEmpty())
        .limit(Math.min(most, MOST_IMAGES))
        .forEach(image -> images.merge(label("image", image.name()), image.bytes(), PoolPlan::sum));
    images.forEach((label, bytes) -> line(text, "image_bytes", label, bytes));
    head(text, "pool_bytes", "What trims of all images of a pool would discard.");
    line(text, "pool_bytes", "", plan.bytes());
    head(text, "images", "Images of a pool, by the reason for which a trim would give nothing.");
    Map<String, Long> reasons = new TreeMap<>();
    reasons.put("none", (long) plan.chosen().size());
    plan.left().forEach(one -> reasons.merge(one.reason(), 1L, Long::sum));
    reasons.forEach((reason, count) -> line(text, "images", label("skipped", reason), count));
    head(text, "estimated_seconds", "When this was written, in seconds since 1970.");
    line(text, "estimated_seconds", "", now.getEpochSecond());
    return text.toString();
  }

  private static void head(StringBuilder text, String name, String help) {
    text.append("# HELP ceph_csi_reclaimable_").append(name).append(' ').append(help).append('\n');
    text.append("# TYPE ceph_csi_reclaimable_").append(name).append(" gauge\n");
  }

  private void line(StringBuilder text, String name, String more, long value) {
    text.append("ceph_csi_reclaimable_").append(name).append('{');
    text.append(label("pool", pool)).append(',').append(label("rados_namespace", namespace));
    text.append(more.isEmpty() ? "" : ",").append(more).append("} ").append(value).append('\n');
  }

  /** Names of images are what others wrote: none ends the label or the line. */
  private static String label(String name, String value) {
    String plain = PlainText.escape(value, LONGEST).replace("\\", "\\\\").replace("\"", "\\\"");
    return name + "=\"" + plain + "\"";
  }
}
