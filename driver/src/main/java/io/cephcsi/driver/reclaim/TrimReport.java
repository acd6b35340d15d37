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
 * @param discarded what was discarded, or would be in a dry run
 * @param content what the image holds, part by part; empty when it was not looked at
 */
public record TrimReport(
    String reason,
    String detail,
    String fileSystem,
    Discarded discarded,
    Optional<ContentNode> content) {
  private static final int SHOWN = 8;

  /** A trim that discarded something, or found nothing to discard. */
  static TrimReport done(String fileSystem, Discarded discarded) {
    return new TrimReport("none", "", fileSystem, discarded, Optional.empty());
  }

  /** A trim that did not take place. */
  static TrimReport skipped(Enum<?> reason, String detail, String fileSystem) {
    return skipped(reason.name().toLowerCase(Locale.ROOT), detail, fileSystem);
  }

  /** A trim that did not take place. */
  static TrimReport skipped(String reason, String detail, String fileSystem) {
    return new TrimReport(reason, detail, fileSystem, Discarded.NOTHING, Optional.empty());
  }

  /** How many bytes were discarded, or would be in a dry run. */
  public long discardedBytes() {
    return discarded.bytes();
  }

  /** The same of an image that was looked at. */
  TrimReport of(ContentNode found) {
    return new TrimReport(reason, detail, fileSystem, discarded, Optional.of(found));
  }

  /** The same with something else discarded. */
  TrimReport discarded(Discarded sent) {
    return new TrimReport(reason, detail, fileSystem, sent, content);
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
        : fileSystem
            + " trimmed by "
            + discarded.bytes()
            + " bytes, "
            + discarded.insideBytes()
            + " of them inside objects that stay"
            + leftAlone();
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
