package io.cephcsi.driver.node;

import java.util.regex.Pattern;

/**
 * Which RBD image, as {@code rbd} writes it.
 *
 * @param pool its pool
 * @param namespace its RADOS namespace; empty for the default
 * @param image its name
 */
public record ImageSpec(String pool, String namespace, String image) {
  private static final int UUID_LENGTH = 36;
  private static final Pattern ENDS_IN_A_UUID =
      Pattern.compile(".*[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");

  /**
   * Whether it is the image of a volume: its name ends in the uuid that is in the volume's
   * identifier, or, of an image that no driver made, is the identifier.
   */
  boolean isOfVolume(String volumeId) {
    return image.equals(volumeId)
        || (ENDS_IN_A_UUID.matcher(image).matches()
            && volumeId.contains(image.substring(image.length() - UUID_LENGTH)));
  }

  /** {@code pool/image} or {@code pool/namespace/image}. */
  @Override
  public String toString() {
    return pool + "/" + (namespace.isEmpty() ? "" : namespace + "/") + image;
  }
}
