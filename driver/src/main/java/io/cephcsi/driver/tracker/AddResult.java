package io.cephcsi.driver.tracker;

import java.util.Set;

/**
 * The result of an addition of references.
 *
 * @param added the keys that were absent: what an undo has to remove, and no others
 * @param masked the keys that are masked, and stay so
 */
public record AddResult(Set<String> added, Set<String> masked) {
  /** Copies the keys. */
  public AddResult {
    added = Set.copyOf(added);
    masked = Set.copyOf(masked);
  }
}
