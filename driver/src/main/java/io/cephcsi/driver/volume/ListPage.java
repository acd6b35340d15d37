package io.cephcsi.driver.volume;

import java.util.List;

/**
 * One answer of a list.
 *
 * @param entries what is listed
 * @param nextToken where to go on; empty at the end
 */
public record ListPage<T>(List<T> entries, String nextToken) {
  /** Copies the list. */
  public ListPage {
    entries = List.copyOf(entries);
  }
}
