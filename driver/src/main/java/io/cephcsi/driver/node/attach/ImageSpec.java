package io.cephcsi.driver.node.attach;

import io.cephcsi.driver.node.machine.Argument;
import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import java.util.regex.Pattern;

/**
 * Which RBD image, as {@code rbd} writes it.
 *
 * @param pool its pool
 * @param namespace its RADOS namespace; empty for the default
 * @param image its name
 */
public record ImageSpec(String pool, String namespace, String image) {
  private static final Pattern NAME = Pattern.compile("[^\\s,/@\"'\\\\-][^\\s,/@\"'\\\\]*");
  private static final int UUID_LENGTH = 36;
  private static final Pattern ENDS_IN_A_UUID =
      Pattern.compile(".*[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");

  /**
   * Whether it is the image of a volume: its name ends in the uuid that is in the volume's
   * identifier, or, of an image that no driver made, is the identifier.
   */
  public boolean isOfVolume(String volumeId) {
    return image.equals(volumeId)
        || (ENDS_IN_A_UUID.matcher(image).matches()
            && volumeId.contains(image.substring(image.length() - UUID_LENGTH)));
  }

  /**
   * It, for the command line of {@code rbd}. The kernel is told one by a line of words.
   *
   * @throws VolumeException INVALID_ARGUMENT when a name of it would be taken for something else
   */
  Argument argument() {
    String what = "the image " + PlainText.show(toString());
    boolean names =
        NAME.matcher(pool).matches()
            && NAME.matcher(image).matches()
            && (namespace.isEmpty() || NAME.matcher(namespace).matches());
    if (!names) {
      throw VolumeException.invalid(what + " cannot be given to a program");
    }
    return Argument.of(what, toString());
  }

  /** {@code pool/image} or {@code pool/namespace/image}. */
  @Override
  public String toString() {
    return pool + "/" + (namespace.isEmpty() ? "" : namespace + "/") + image;
  }
}
