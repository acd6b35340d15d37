package io.cephcsi.driver.rbd.group;

import io.cephcsi.bindings.cls.GroupLink;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.rbd.image.FoundImage;
import io.cephcsi.driver.rbd.session.OpenVolume;
import io.cephcsi.driver.volume.CreatedVolume;
import io.cephcsi.driver.volume.VolumeId;
import java.util.Collection;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A volume that is, or may become, a member of a group.
 *
 * @param volume the volume; as the call works on it
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

  /** The ids of some volumes. */
  static Set<VolumeId> ids(Collection<GroupedVolume> volumes) {
    return volumes.stream().map(GroupedVolume::id).collect(Collectors.toUnmodifiableSet());
  }

  /** Whether its image is in a group of its own pool, where the driver's groups are. */
  boolean isIn(String groupId) {
    GroupLink wanted = new GroupLink(volume.pool().io().poolId(), groupId);
    return header.group().filter(wanted::equals).isPresent();
  }

  /** The volume as answers have it. */
  CreatedVolume toVolume() {
    return toVolume(
        volume.id(), volume.pool().io(), volume.journalPool(), volume.entry(), header.size());
  }

  /**
   * A volume as answers have it.
   *
   * @param size in bytes
   */
  static CreatedVolume toVolume(
      VolumeId id, IoContext io, IoContext journalPool, JournalEntry entry, long size) {
    return new CreatedVolume(
        id,
        size,
        Map.of(
            "clusterID", id.clusterId(),
            "pool", io.pool(),
            "journalPool", journalPool.pool(),
            "imageName", entry.name()),
        Map.of());
  }
}
