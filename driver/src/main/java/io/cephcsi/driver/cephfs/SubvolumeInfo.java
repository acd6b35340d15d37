package io.cephcsi.driver.cephfs;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Optional;

/**
 * A subvolume as the manager describes it.
 *
 * @param state such as {@code complete} or {@code snapshot-retained}
 * @param path of its data; empty when only its snapshots are left
 * @param quota in bytes; 0 without a quota
 * @param pool the pool of its files; empty when it is not said
 */
record SubvolumeInfo(String state, Optional<String> path, long quota, String pool) {
  static final String RETAINED = "snapshot-retained";

  /** One that is ready for use, of which no pool is said. */
  static SubvolumeInfo complete(String path, long quota) {
    return new SubvolumeInfo("complete", Optional.of(path), quota, "");
  }

  static SubvolumeInfo decode(JsonNode answer) {
    return new SubvolumeInfo(
        answer.path("state").asText("complete"),
        Optional.of(answer.path("path").asText("")).filter(path -> !path.isEmpty()),
        answer.path("bytes_quota").asLong(0), // "infinite" is no number
        answer.path("data_pool").asText(""));
  }

  /** Whether it was removed, and only its snapshots are left. */
  boolean isRetained() {
    return state.equals(RETAINED) || path.isEmpty();
  }
}
