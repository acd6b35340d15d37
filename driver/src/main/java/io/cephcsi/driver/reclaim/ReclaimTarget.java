package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.rbd.RbdImage;

/** An image to reclaim, wherever it comes from. */
public interface ReclaimTarget {
  /** For messages: the volume's id, or pool and image. */
  String name();

  /** The id of the connection that {@link #open} uses: its watches are our own. */
  long clientId();

  /** Opens the image for reading; this leaves no watcher. */
  RbdImage openReadOnly();

  /** Opens the image for writing. */
  RbdImage open();
}
