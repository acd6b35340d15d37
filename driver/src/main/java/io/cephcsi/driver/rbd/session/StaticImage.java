package io.cephcsi.driver.rbd.session;

import io.cephcsi.driver.volume.Booleans;
import io.cephcsi.driver.volume.CheckedName;
import io.cephcsi.driver.volume.MigratedVolume;
import io.cephcsi.driver.volume.StaticVolume;

/**
 * An image that no driver made, in the namespace of its cluster's configuration.
 *
 * @param volumeId the identifier that it has as a volume
 * @param clusterId its cluster in the configuration
 * @param pool its pool
 * @param name its name
 */
public record StaticImage(String volumeId, String clusterId, String pool, String name) {
  /**
   * The image of a static volume: the one that its handle names, in the {@code pool} of its
   * context; that of Kubernetes' in-tree plugin has {@code migration: "true"} and {@code imageName}
   * there.
   *
   * @throws io.cephcsi.driver.volume.VolumeException INVALID_ARGUMENT naming what is missing or
   *     cannot be a name
   */
  public static StaticImage of(StaticVolume volume) {
    boolean migrated = Booleans.isTrue("volume_context", volume.context(), "migration");
    return new StaticImage(
        volume.handle(),
        volume.clusterId(),
        CheckedName.ofExisting("volume_context: pool", volume.required("pool")).toString(),
        migrated
            ? CheckedName.ofExisting("volume_context: imageName", volume.required("imageName"))
                .toString()
            : CheckedName.ofExisting("volume_id", volume.handle()).toString());
  }

  /** The image of a volume that Kubernetes' in-tree plugin made, by its identifier. */
  public static StaticImage of(MigratedVolume volume) {
    return new StaticImage(volume.handle(), volume.clusterId(), volume.pool(), volume.image());
  }
}
