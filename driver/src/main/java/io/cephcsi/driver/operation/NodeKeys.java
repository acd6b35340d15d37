package io.cephcsi.driver.operation;

/** The keys that operations on a node lock. Pure. */
public final class NodeKeys {
  private NodeKeys() {}

  /**
   * Of all that is done to a volume on this node. Apart from the controller's: a reclaim there
   * gives way to the node, and is not waited for.
   */
  public static String volume(String volumeId) {
    return "volume " + volumeId + " on this node";
  }

  /**
   * Of an image whose device is worked on. Several volumes may be of one image, as a static one and
   * the one that the image was made for: a device that one call works on must not be taken away by
   * another.
   *
   * @param image as {@code rbd} writes it
   */
  public static String image(String image) {
    return "image " + image + " on this node";
  }
}
