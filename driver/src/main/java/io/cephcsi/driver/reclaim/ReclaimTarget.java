package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.rbd.RbdImage;
import java.util.Map;

/** An image to reclaim, wherever it comes from. */
public interface ReclaimTarget {
  /** For messages: the volume's id, or pool and image. */
  String name();

  /** Opens the image for reading; this leaves no watcher. */
  RbdImage openReadOnly();

  /**
   * Opens the image for writing, over a connection of its own: whoever breaks its lock shuts out
   * all of the connection, and options hold for all of it.
   *
   * @param options options for the connection
   */
  Writable open(Map<String, String> options);

  /** An image that is open for writing. */
  interface Writable extends AutoCloseable {
    /** The image, closed with this. */
    RbdImage image();

    /** The id of the connection: its watches are our own. */
    long clientId();

    @Override
    void close();
  }
}
