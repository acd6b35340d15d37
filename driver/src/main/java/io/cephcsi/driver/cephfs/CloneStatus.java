package io.cephcsi.driver.cephfs;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.OptionalDouble;

/**
 * How far a clone is.
 *
 * @param state of the manager's work
 * @param percent how much is copied, where the release of Ceph says so (20)
 * @param failure what went wrong; empty unless it failed
 */
record CloneStatus(State state, OptionalDouble percent, String failure) {
  /** A subvolume that is ready for use. */
  static final CloneStatus COMPLETE = new CloneStatus(State.COMPLETE, OptionalDouble.empty(), "");

  /** What the manager does with a clone. */
  enum State {
    /** Not begun. */
    PENDING,
    /** Being copied. */
    IN_PROGRESS,
    /** Ready for use. */
    COMPLETE,
    /** Ended without success, or cancelled: to be removed. */
    FAILED
  }

  /** Whether the manager has it to do. */
  boolean isRunning() {
    return state == State.PENDING || state == State.IN_PROGRESS;
  }

  static CloneStatus decode(JsonNode answer) {
    JsonNode status = answer.path("status");
    String text = status.path("state").asText();
    State state =
        switch (text) {
          case "pending" -> State.PENDING;
          case "in-progress" -> State.IN_PROGRESS;
          case "complete" -> State.COMPLETE;
          case "failed", "canceled" -> State.FAILED;
          default -> throw new IllegalStateException("clone state \"" + text + "\" is not known");
        };
    String failure = status.path("failure").path("error_msg").asText(text);
    return new CloneStatus(state, percent(status), state == State.FAILED ? failure : "");
  }

  /** Such as {@code "percentage cloned": "12.24%"}. */
  private static OptionalDouble percent(JsonNode status) {
    String text = status.path("progress_report").path("percentage cloned").asText("");
    try {
      return text.isEmpty()
          ? OptionalDouble.empty()
          : OptionalDouble.of(Double.parseDouble(text.replace("%", "").strip()));
    } catch (NumberFormatException e) {
      return OptionalDouble.empty();
    }
  }
}
