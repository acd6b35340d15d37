package io.cephcsi.driver.tracker;

import java.util.Map;

/**
 * A tracker as it was read.
 *
 * @param version of its object, to be asserted in the next write
 * @param count the number of normal references, 1 to 2³²−1
 * @param references the keys that are there; of a partial read, those that were asked for
 */
public record TrackerState(long version, long count, Map<String, ReferenceState> references) {
  /** Copies the references. */
  public TrackerState {
    references = Map.copyOf(references);
  }

  /** What it says of a key. */
  public ReferenceState reference(String key) {
    return references.getOrDefault(key, ReferenceState.ABSENT);
  }

  /** How many of the references are normal: the count, in a sound tracker that was read whole. */
  public long normalReferences() {
    return references.values().stream().filter(ReferenceState.NORMAL::equals).count();
  }
}
