package io.cephcsi.driver.cephfs;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeParseException;
import java.time.temporal.ChronoUnit;

/**
 * A snapshot as the manager describes it.
 *
 * @param createdAt when it was taken, if the manager's clock shows UTC, as in containers it does;
 *     in whole seconds: of the fraction, the manager first says another than later
 * @param hasPendingClones whether it is being cloned, and cannot be removed
 */
record SnapshotInfo(Instant createdAt, boolean hasPendingClones) {
  static SnapshotInfo decode(JsonNode answer) {
    return new SnapshotInfo(
        time(answer.path("created_at").asText()),
        answer.path("has_pending_clones").asText("no").equals("yes"));
  }

  /** Such as {@code 2026-11-20 21:45:53.066807}. */
  private static Instant time(String text) {
    try {
      return LocalDateTime.parse(text.replace(' ', 'T'))
          .truncatedTo(ChronoUnit.SECONDS)
          .toInstant(ZoneOffset.UTC);
    } catch (DateTimeParseException e) {
      throw new IllegalStateException("the manager's created_at \"" + text + "\" is no time", e);
    }
  }
}
