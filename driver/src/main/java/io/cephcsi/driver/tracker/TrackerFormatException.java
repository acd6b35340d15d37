package io.cephcsi.driver.tracker;

/**
 * A tracker of another version than this driver knows, or a damaged one. Nothing was changed:
 * guessing could delete a snapshot that is in use.
 */
public final class TrackerFormatException extends IllegalStateException {
  private static final long serialVersionUID = 1L;

  TrackerFormatException(String tracker, String problem) {
    super("reference tracker " + tracker + ": " + problem);
  }
}
