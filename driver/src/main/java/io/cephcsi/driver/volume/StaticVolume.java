package io.cephcsi.driver.volume;

import java.util.Map;
import java.util.Optional;

/**
 * A volume that no driver made: an administrator wrote into its context, the {@code
 * volumeAttributes} of a Kubernetes PersistentVolume, where its data are, with {@code staticVolume:
 * "true"}, as for ceph-csi.
 *
 * @param handle its identifier, which the administrator chose
 * @param context what he wrote down
 */
public record StaticVolume(String handle, Map<String, String> context) {
  private static final String KEY = "staticVolume";

  /** Copies the context. */
  public StaticVolume {
    context = Map.copyOf(context);
  }

  /**
   * The static volume that a request is about.
   *
   * @param context of the request
   * @return empty when the context is that of a volume that a driver made
   * @throws VolumeException INVALID_ARGUMENT when it does not say which
   */
  public static Optional<StaticVolume> of(String handle, Map<String, String> context) {
    return Booleans.isTrue("volume_context", context, KEY)
        ? Optional.of(new StaticVolume(handle, context))
        : Optional.empty();
  }

  /** The cluster in the configuration. */
  public String clusterId() {
    return required("clusterID");
  }

  /**
   * A value that must be there.
   *
   * @throws VolumeException INVALID_ARGUMENT naming the key when it is not
   */
  public String required(String key) {
    return given(key)
        .orElseThrow(
            () -> VolumeException.invalid("volume_context: " + key + " is required with " + KEY));
  }

  /** A value that may be left out. */
  public Optional<String> given(String key) {
    return Optional.ofNullable(context.get(key)).filter(value -> !value.isBlank());
  }
}
