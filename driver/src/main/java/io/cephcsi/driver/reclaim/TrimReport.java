package io.cephcsi.driver.reclaim;

import io.cephcsi.driver.reclaim.fs.ContentNode;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * The result of the trim in a reclaim.
 *
 * @param reason why nothing was discarded, as a short word for metrics; {@code none} otherwise
 * @param detail the same as a sentence; empty otherwise
 * @param fileSystem what was found in the image; empty when it was not looked at. Of several parts
 *     those that are trimmed
 * @param discardedBytes how much was discarded, or would be in a dry run
 * @param content what the image holds, part by part; empty when it was not looked at
 */
public record TrimReport(
    String reason,
    String detail,
    String fileSystem,
    long discardedBytes,
    Optional<ContentNode> content) {
  private static final int SHOWN = 8;

  /** A trim that discarded something, or found nothing to discard. */
  static TrimReport done(String fileSystem, long discardedBytes) {
    return new TrimReport("none", "", fileSystem, discardedBytes, Optional.empty());
  }

  /** A trim that did not take place. */
  static TrimReport skipped(Enum<?> reason, String detail, String fileSystem) {
    return skipped(reason.name().toLowerCase(Locale.ROOT), detail, fileSystem);
  }

  /** A trim that did not take place. */
  static TrimReport skipped(String reason, String detail, String fileSystem) {
    return new TrimReport(reason, detail, fileSystem, 0, Optional.empty());
  }

  /** The same of an image that was looked at. */
  TrimReport of(ContentNode found) {
    return new TrimReport(reason, detail, fileSystem, discardedBytes, Optional.of(found));
  }

  /** The same with another number of bytes. */
  TrimReport discarded(long bytes) {
    return new TrimReport(reason, detail, fileSystem, bytes, content);
  }

  /** Whether nothing was discarded for a reason. */
  public boolean isSkipped() {
    return !reason.equals("none");
  }

  /** For the log. */
  @Override
  public String toString() {
    return isSkipped()
        ? "not trimmed (" + detail + ")"
        : fileSystem + " trimmed by " + discardedBytes + " bytes" + leftAlone();
  }

  /** The parts that were left alone, some of them. */
  private String leftAlone() {
    List<String> parts =
        content.stream()
            .flatMap(root -> root.leaves().stream())
            .filter(leaf -> leaf.reason().isPresent())
            .map(leaf -> leaf.name() + " (" + leaf.detail() + ")")
            .toList();
    String more = parts.size() > SHOWN ? " and " + (parts.size() - SHOWN) + " more" : "";
    return parts.isEmpty()
        ? ""
        : ", but not " + String.join(", ", parts.subList(0, Math.min(SHOWN, parts.size()))) + more;
  }
}
