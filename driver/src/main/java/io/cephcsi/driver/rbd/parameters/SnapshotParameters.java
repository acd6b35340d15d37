package io.cephcsi.driver.rbd.parameters;

import io.cephcsi.driver.rbd.image.ImageLabels;
import io.cephcsi.driver.volume.VolumeException;
import java.util.Map;
import java.util.Optional;

/**
 * The parameters of a VolumeSnapshotClass for RBD, checked.
 *
 * @param clusterId the cluster of the configuration, if the class names it
 * @param pool where the snapshot's image is made; the source's pool when empty
 * @param namePrefix begins the image's name
 * @param labels Kubernetes names for the image's metadata
 * @param staysOnImage whether the snapshot stays on the volume's image ({@code snapshotMode:
 *     native}) and gets no image of its own, as ceph-csi's snapshots have
 */
public record SnapshotParameters(
    Optional<String> clusterId,
    Optional<String> pool,
    String namePrefix,
    Map<String, String> labels,
    boolean staysOnImage) {
  /** Begins the name of a snapshot's image unless the class says otherwise. */
  public static final String DEFAULT_PREFIX = "csi-snap-";

  private static final String MODE = "snapshotMode";
  private static final String IMAGE = "image";
  private static final String NATIVE = "native";

  /** Copies the labels. */
  public SnapshotParameters {
    labels = Map.copyOf(labels);
  }

  /**
   * Reads the parameters of a CreateSnapshot request; keys that are not known are ignored.
   *
   * @throws VolumeException INVALID_ARGUMENT naming the parameter
   */
  public static SnapshotParameters parse(Map<String, String> parameters) {
    return new SnapshotParameters(
        given(parameters, "clusterID"),
        given(parameters, "pool").map(pool -> RbdParameters.name(parameters, "pool")),
        RbdParameters.namePrefix(parameters, "snapshotNamePrefix", DEFAULT_PREFIX),
        ImageLabels.of(parameters),
        staysOnImage(parameters.getOrDefault(MODE, IMAGE)));
  }

  private static boolean staysOnImage(String mode) {
    return switch (mode) {
      case NATIVE -> true;
      case IMAGE, "" -> false;
      default ->
          throw VolumeException.invalid(
              "parameters: " + MODE + " must be " + IMAGE + " or " + NATIVE + ", not " + mode);
    };
  }

  private static Optional<String> given(Map<String, String> parameters, String key) {
    return Optional.ofNullable(parameters.get(key)).filter(value -> !value.isBlank());
  }
}
