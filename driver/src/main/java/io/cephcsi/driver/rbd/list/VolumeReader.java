package io.cephcsi.driver.rbd.list;

import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.ImageSummary;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.ImageFlag;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.cluster.PoolInfo;
import io.cephcsi.driver.journal.AttachmentJournal;
import io.cephcsi.driver.journal.Attempt;
import io.cephcsi.driver.journal.ClusterView;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalDirectory.Name;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.journal.ListReader;
import io.cephcsi.driver.rbd.image.ImageLists;
import io.cephcsi.driver.rbd.image.ImageLocation;
import io.cephcsi.driver.volume.ListedVolume;
import io.cephcsi.driver.volume.VolumeId;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Reads the volumes of a list: two round trips for each, the journal's object and the image's
 * header, many at once, and one for each batch and pool, for those that are in the trash. No image
 * is opened.
 */
final class VolumeReader implements ListReader<ListedVolume> {
  private final String instanceId;

  VolumeReader(String instanceId) {
    this.instanceId = instanceId;
  }

  @Override
  public List<Long> journalPools(ClusterView cluster) {
    return cluster.pools().stream().filter(PoolInfo::mayHoldRbd).map(PoolInfo::id).toList();
  }

  @Override
  public List<Optional<ListedVolume>> read(
      ClusterView cluster, IoContext journalPool, List<Name> names) {
    List<Optional<Found>> found =
        ImageLists.find(cluster, journalPool, names, (io, name) -> find(io, journalPool, name));
    Set<ImageLocation> trash =
        ImageLocation.inTrash(
            found.stream().flatMap(Optional::stream).map(Found::location).toList());
    return found.stream()
        .map(
            volume ->
                volume
                    .filter(present -> !trash.contains(present.location))
                    .map(present -> present.listed(cluster)))
        .toList();
  }

  private Optional<Found> find(IoContext io, IoContext journalPool, Name name) {
    return new Journal(JournalKind.VOLUME, instanceId, journalPool, io)
        .byUuid(name.uuid())
        .filter(entry -> !AttachmentJournal.isBeingDeleted(entry) && !Attempt.isUnderWay(entry))
        .flatMap(entry -> find(io, journalPool.pool(), entry));
  }

  private static Optional<Found> find(IoContext io, String journalPool, JournalEntry entry) {
    return entry
        .imageId()
        .flatMap(id -> find(io, journalPool, entry, id))
        .or(
            () -> // none is recorded, or another one was put in its place
            ImageId.find(new RbdPool(io), entry.name())
                    .flatMap(id -> find(io, journalPool, entry, id)));
  }

  private static Optional<Found> find(
      IoContext io, String journalPool, JournalEntry entry, String id) {
    return ImageSummary.read(io, id)
        .map(summary -> new Found(new ImageLocation(io, id), journalPool, entry, summary));
  }

  /** What is wrong with an image that is there; empty when nothing is. */
  static Optional<String> problem(ClusterView cluster, IoContext io, ImageSummary image) {
    if (image.flags().contains(ImageFlag.OBJECT_MAP_INVALID)) {
      return Optional.of("the object map of the image is invalid: usage is slow to find out");
    }
    if (image.features().contains(ImageFeature.NON_PRIMARY)) {
      return Optional.of("the image is a mirror's secondary: it cannot be written here");
    }
    if (cluster.isFull(io.poolId())) {
      return Optional.of("pool " + io.pool() + " is full");
    }
    return cluster.danger();
  }

  /** A volume with an image, perhaps in the trash. */
  private record Found(
      ImageLocation location, String journalPool, JournalEntry entry, ImageSummary image) {
    ListedVolume listed(ClusterView cluster) {
      IoContext io = location.io();
      return new ListedVolume(
          new VolumeId(cluster.clusterId(), io.poolId(), entry.uuid()),
          image.size(),
          Map.of(
              "clusterID", cluster.clusterId(),
              "pool", io.pool(),
              "journalPool", journalPool,
              "imageName", entry.name()),
          AttachmentJournal.nodes(entry),
          problem(cluster, io, image));
    }
  }
}
