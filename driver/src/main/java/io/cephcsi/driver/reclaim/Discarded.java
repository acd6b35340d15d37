package io.cephcsi.driver.reclaim;

/**
 * What discards come to. What lay in the ranges of objects that stay may not have been allocated:
 * nobody asks the OSDs, and a second trim discards the same ranges again.
 *
 * @param bytes the length of all ranges
 * @param objects how many objects go away as a whole, by the object map that the plan was made with
 * @param insideBytes the part of the bytes that lies in objects that stay
 * @param operations on how many objects an OSD works for it
 */
public record Discarded(long bytes, long objects, long insideBytes, long operations) {
  /** Nothing. */
  public static final Discarded NOTHING = new Discarded(0, 0, 0, 0);
}
