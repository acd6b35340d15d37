package io.cephcsi.driver.rbd.mirror;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.driver.volume.Json;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/**
 * What a daemon that copies by snapshots describes its state by: words, and behind a comma JSON. A
 * journal has none of the figures. Pure.
 *
 * @param words what is before the comma
 * @param snapshot the time of the last snapshot that is copied completely
 * @param duration how long that took
 * @param bytes how much it copied; 0 when it does not say
 * @param idle whether it has nothing to copy
 * @param behind whether it says that there is something to copy
 * @param syncing whether it says that it copies a snapshot; perhaps it waits for its turn
 */
record SyncReport(
    String words,
    Optional<Instant> snapshot,
    Optional<Duration> duration,
    long bytes,
    boolean idle,
    boolean behind,
    boolean syncing) {
  private static final long MOST = 253_402_300_799L; // seconds, the last of the year 9999
  private static final String SPLIT_BRAIN = "split-brain";

  /** Reads a description; one that is not as expected has words only. */
  static SyncReport of(String description) {
    int comma = description.indexOf(',');
    if (comma < 0) {
      return new SyncReport(
          description.strip(), Optional.empty(), Optional.empty(), 0, false, false, false);
    }
    String words = description.substring(0, comma).strip();
    JsonNode json = json(description.substring(comma + 1));
    return new SyncReport(
        words,
        number(json, "local_snapshot_timestamp")
            .filter(seconds -> seconds > 0)
            .map(Instant::ofEpochSecond),
        number(json, "last_snapshot_sync_seconds").map(Duration::ofSeconds),
        number(json, "last_snapshot_bytes").orElse(0L),
        json.path("replay_state").asText().equals("idle"),
        isBehind(json),
        json.path("replay_state").asText().equals("syncing"));
  }

  private static boolean isBehind(JsonNode json) {
    String state = json.path("replay_state").asText("idle"); // a journal has none
    long copied = number(json, "local_snapshot_timestamp").orElse(0L);
    return !state.equals("idle")
        || number(json, "remote_snapshot_timestamp").orElse(0L) > copied
        || number(json, "entries_behind_primary").orElse(0L) > 0;
  }

  private static JsonNode json(String text) {
    try {
      JsonNode json = Json.mapper().readTree(text);
      return json == null ? Json.mapper().createObjectNode() : json;
    } catch (JsonProcessingException e) {
      return Json.mapper().createObjectNode(); // words with a comma
    }
  }

  private static Optional<Long> number(JsonNode json, String key) {
    JsonNode value = json.path(key);
    return value.isIntegralNumber() && value.canConvertToLong() && isSane(value.asLong())
        ? Optional.of(value.asLong())
        : Optional.empty();
  }

  /** Not what no answer could hold, such as a time beyond the year 9999. */
  private static boolean isSane(long number) {
    return number >= 0 && number <= MOST;
  }

  /** Whether both sites were written since they were the same. */
  static boolean isSplitBrain(String description) {
    return description.contains(SPLIT_BRAIN);
  }
}
