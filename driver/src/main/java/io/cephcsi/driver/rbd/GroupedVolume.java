package io.cephcsi.driver.rbd;

import io.cephcsi.bindings.cls.GroupLink;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.driver.volume.CreatedVolume;
import io.cephcsi.driver.volume.VolumeId;
import java.util.Map;
import java.util.Optional;

/**
 * A volume that is, or may become, a member of a group.
 *
 * @param volume the volume; its lease belongs to the caller
 * @param imageId the id of its image
 * @param header of its image
 */
record GroupedVolume(OpenVolume volume, String imageId, ImageHeader header) {
  /** Looks a volume's image up; one round trip, empty when it is gone. */
  static Optional<GroupedVolume> of(OpenVolume volume) {
    return FoundImage.of(volume.pool(), volume.entry())
        .map(image -> new GroupedVolume(volume, image.id(), image.header()));
  }

  VolumeId id() {
    return volume.id();
  }

  /** Whether its image is in a group of its own pool, where the driver's groups are. */
  boolean isIn(String groupId) {
    GroupLink wanted = new GroupLink(volume.pool().io().poolId(), groupId);
    return header.group().filter(wanted::equals).isPresent();
  }

  /** The volume as answers have it. */
  CreatedVolume toVolume() {
    String pool = volume.pool().io().pool();
    String journalPool =
        volume.entry().journalPoolId().isPresent()
            ? volume.lease().rbdPool(volume.entry().journalPoolId().getAsLong()).pool()
            : pool;
    return new CreatedVolume(
        volume.id(),
        header.size(),
        Map.of(
            "clusterID",
            volume.id().clusterId(),
            "pool",
            pool,
            "journalPool",
            journalPool,
            "imageName",
            volume.imageName()),
        Map.of());
  }
}
