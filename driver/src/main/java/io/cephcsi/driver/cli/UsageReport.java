package io.cephcsi.driver.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.cephcsi.bindings.cls.ImageUsage;
import io.cephcsi.driver.reclaim.TrimReport;
import io.cephcsi.driver.reclaim.fs.ContentNode;
import io.cephcsi.driver.volume.PlainText;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Usages for people and for programs.
 *
 * @param rows the images, in the order to show them
 * @param reclaimable whether to show what a trim would free
 */
record UsageReport(List<UsageReport.Row> rows, boolean reclaimable) {
  /**
   * An image.
   *
   * @param usage empty when it could not be measured
   * @param trim what a trim would free, or why nothing; empty when nobody looked
   * @param problem why there is no usage
   */
  record Row(String name, Optional<ImageUsage> usage, Optional<TrimReport> trim, String problem) {
    static Row failed(String name, String problem) {
      return new Row(name, Optional.empty(), Optional.empty(), problem);
    }

    /** What a trim would free in bytes; -1 when that is not known. */
    long rank() {
      return trim.filter(report -> !report.isSkipped()).map(TrimReport::discardedBytes).orElse(-1L);
    }

    /** What the image holds; empty when nobody looked. */
    Optional<ContentNode> content() {
      return trim.flatMap(TrimReport::content);
    }

    /** Why a trim would free nothing, as a word; empty otherwise. */
    String whyNot() {
      return trim.filter(TrimReport::isSkipped).map(TrimReport::reason).orElse("");
    }
  }

  void table(PrintWriter out) {
    int width =
        rows.stream().mapToInt(row -> PlainText.escape(row.name()).length()).max().orElse(0);
    width = Math.max(width, "IMAGE".length());
    String line = "%-" + width + "s %11s %11s %11s %11s  %s%n";
    String method = reclaimable ? "METHOD      WHY NOT" : "METHOD";
    out.printf(
        line, "IMAGE", "SIZE", "USED", "SNAPSHOTS", reclaimable ? "RECLAIMABLE" : "", method);
    long size = 0;
    long used = 0;
    long snapshots = 0;
    long gain = 0;
    for (Row row : rows) {
      if (row.usage().isEmpty()) {
        continue;
      }
      ImageUsage usage = row.usage().get();
      size += usage.sizeBytes();
      used += usage.headBytes();
      snapshots += usage.snapshotBytes();
      gain += Math.max(0, row.rank());
      out.printf(
          line,
          PlainText.escape(row.name()),
          ImageCommand.bytes(usage.sizeBytes()),
          ImageCommand.bytes(usage.headBytes()),
          ImageCommand.bytes(usage.snapshotBytes()),
          !reclaimable ? "" : row.rank() >= 0 ? ImageCommand.bytes(row.rank()) : "-",
          "%-11s %s".formatted(method(usage), row.whyNot()).strip());
      row.content().ifPresent(content -> ContentOutput.table(out, content));
    }
    out.printf(
        line,
        "TOTAL",
        ImageCommand.bytes(size),
        ImageCommand.bytes(used),
        ImageCommand.bytes(snapshots),
        reclaimable ? ImageCommand.bytes(gain) : "",
        "");
  }

  private static String method(ImageUsage usage) {
    return usage.method().name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  void json(ObjectNode root) {
    ArrayNode images = ImageCommand.imagesOf(root);
    long size = 0;
    long total = 0;
    for (Row row : rows) {
      ObjectNode image = images.addObject().put("name", row.name());
      if (row.usage().isEmpty()) {
        image.put("error", row.problem());
        continue;
      }
      ImageUsage usage = row.usage().get();
      size += usage.sizeBytes();
      total += usage.totalBytes();
      image
          .put("sizeBytes", usage.sizeBytes())
          .put("usedBytes", usage.headBytes())
          .put("sinceSnapshotBytes", usage.sinceSnapshotBytes())
          .put("snapshotBytes", usage.snapshotBytes())
          .put("totalBytes", usage.totalBytes())
          .put("method", method(usage));
      if (row.rank() >= 0) {
        image.put("reclaimableBytes", row.rank());
      } else if (!row.whyNot().isEmpty()) {
        image.put("notReclaimable", row.whyNot());
      }
      row.content().ifPresent(content -> ContentOutput.json(image.putObject("content"), content));
      ArrayNode snapshots = image.putArray("snapshots");
      for (ImageUsage.OfSnapshot snapshot : usage.snapshots()) {
        snapshots
            .addObject()
            .put("name", snapshot.name())
            .put("sizeBytes", snapshot.sizeBytes())
            .put("usedBytes", snapshot.bytes());
      }
    }
    root.put("sizeBytes", size).put("totalBytes", total);
  }
}
