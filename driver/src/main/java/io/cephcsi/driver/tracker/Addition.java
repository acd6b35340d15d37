package io.cephcsi.driver.tracker;

import java.util.Set;

/**
 * What the addition of references came to.
 *
 * @param created whether there was no tracker before
 * @param added the keys that were absent: what an undo has to remove, and no others
 */
public record Addition(boolean created, Set<String> added) {
  /** Copies the keys. */
  public Addition {
    added = Set.copyOf(added);
  }
}
