package io.cephcsi.driver.volume;

/** What an answer with a list has several of. */
public interface ListEntry {
  /** About how many bytes it takes in an answer, rather more than less. */
  int bytes();
}
