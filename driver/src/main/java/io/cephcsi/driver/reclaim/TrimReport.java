package io.cephcsi.driver.reclaim;

import java.util.Locale;

/**
 * The result of the trim in a reclaim.
 *
 * @param reason why nothing was discarded, as a short word for metrics; {@code none} otherwise
 * @param detail the same as a sentence; empty otherwise
 * @param fileSystem what was found in the image; empty when it was not looked at
 * @param discarded what was discarded, or would be in a dry run
 */
public record TrimReport(String reason, String detail, String fileSystem, Discarded discarded) {
  /** A trim that discarded something, or found nothing to discard. */
  static TrimReport done(String fileSystem, Discarded discarded) {
    return new TrimReport("none", "", fileSystem, discarded);
  }

  /** A trim that did not take place. */
  static TrimReport skipped(Enum<?> reason, String detail, String fileSystem) {
    return skipped(reason.name().toLowerCase(Locale.ROOT), detail, fileSystem);
  }

  /** A trim that did not take place. */
  static TrimReport skipped(String reason, String detail, String fileSystem) {
    return new TrimReport(reason, detail, fileSystem, Discarded.NOTHING);
  }

  /** How many bytes were discarded, or would be in a dry run. */
  public long discardedBytes() {
    return discarded.bytes();
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
            + " of them inside objects that stay";
  }
}
