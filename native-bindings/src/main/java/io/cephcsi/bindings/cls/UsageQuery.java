package io.cephcsi.bindings.cls;

/**
 * What is to be measured.
 *
 * @param exact extents instead of whole objects: every object that exists is asked
 * @param inherited also what a clone reads from its parent: the image is opened then
 * @param maxObjectsWalked how many objects may be asked one by one, about 18,000 a second, when
 *     there is no valid object map; each counts once for each snapshot, too
 */
public record UsageQuery(boolean exact, boolean inherited, long maxObjectsWalked) {
  /** Whole objects, by the object map or fast diff only. */
  public static final UsageQuery QUICK = new UsageQuery(false, false, 0);
}
