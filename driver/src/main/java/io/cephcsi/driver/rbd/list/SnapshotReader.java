package io.cephcsi.driver.rbd.list;

import io.cephcsi.bindings.cls.HeaderSnapshot;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageLink;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.SnapshotNamespace;
import io.cephcsi.driver.cluster.PoolInfo;
import io.cephcsi.driver.journal.ClusterView;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalDirectory.Name;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.journal.ListReader;
import io.cephcsi.driver.rbd.image.FoundImage;
import io.cephcsi.driver.rbd.image.ImageLists;
import io.cephcsi.driver.rbd.image.ImageLocation;
import io.cephcsi.driver.rbd.image.ImageNames;
import io.cephcsi.driver.rbd.snapshot.NativeSnapshots;
import io.cephcsi.driver.volume.ListedSnapshot;
import io.cephcsi.driver.volume.VolumeId;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;

/**
 * Reads the snapshots of a list: three round trips for each, the journal's object, the header of
 * its image and the snapshot on that, many at once, and one for each batch and pool, for those that
 * are in the trash. A snapshot that a filter leaves out costs the first of them, once.
 */
final class SnapshotReader implements ListReader<ListedSnapshot> {
  private final String instanceId;
  private final SnapshotSources sources;
  private final Optional<UUID> wanted;

  /**
   * @param instanceId tells several drivers on one pool apart
   * @param sources what is known already
   * @param source only snapshots of this volume; empty for all
   */
  SnapshotReader(String instanceId, SnapshotSources sources, Optional<VolumeId> source) {
    this.instanceId = instanceId;
    this.sources = sources;
    this.wanted = source.map(VolumeId::uuid);
  }

  @Override
  public List<Long> journalPools(ClusterView cluster) {
    return cluster.pools().stream().filter(PoolInfo::mayHoldRbd).map(PoolInfo::id).toList();
  }

  @Override
  public List<Optional<ListedSnapshot>> read(
      ClusterView cluster, IoContext journalPool, List<Name> names) {
    List<Optional<Found>> found =
        ImageLists.find(
            cluster, journalPool, names, (io, name) -> find(cluster.clusterId(), io, name.uuid()));
    Set<ImageLocation> trash =
        ImageLocation.inTrash(
            found.stream()
                .flatMap(Optional::stream)
                .flatMap(snapshot -> snapshot.image.stream())
                .toList());
    return found.stream()
        .map(
            snapshot ->
                snapshot
                    .filter(f -> f.image.filter(trash::contains).isEmpty())
                    .map(Found::snapshot))
        .toList();
  }

  private Optional<Found> find(String clusterId, IoContext io, UUID uuid) {
    if (wanted.filter(volume -> sources.isOfOther(uuid, volume)).isPresent()) {
      return Optional.empty();
    }
    return new Journal(JournalKind.SNAPSHOT, instanceId, io, io)
        .byUuid(uuid)
        .filter(this::isWanted)
        .flatMap(entry -> find(clusterId, io, entry));
  }

  private boolean isWanted(JournalEntry entry) {
    Optional<UUID> source = sourceUuid(entry);
    if (source.isPresent() && (entry.imageId().isPresent() || entry.nativeSnapshot().isPresent())) {
      sources.learn(entry.uuid(), source.get());
    }
    return wanted.isEmpty() || source.equals(wanted);
  }

  private static Optional<Found> find(String clusterId, IoContext io, JournalEntry entry) {
    Optional<UUID> source = sourceUuid(entry);
    if (source.isPresent() && entry.nativeImage().isPresent()) {
      return NativeSnapshots.find(io, entry)
          .map(
              snapshot ->
                  new Found(
                      Optional.empty(),
                      listed(clusterId, io, entry, source.get(), io.poolId(), snapshot)));
    }
    if (entry.imageId().isEmpty() || source.isEmpty()) {
      return Optional.empty(); // being made: the image's id is recorded last
    }
    try {
      return FoundImage.of(new RbdPool(io), entry)
          .flatMap(
              image ->
                  ImageHeader.snapshots(io, image.id(), image.header().snapshotIds()).stream()
                      .filter(s -> s.namespace() == SnapshotNamespace.USER)
                      .filter(s -> s.name().equals(entry.name()))
                      .findFirst()
                      .map(
                          snapshot ->
                              new Found(
                                  Optional.of(new ImageLocation(io, image.id())),
                                  listed(
                                      clusterId,
                                      io,
                                      entry,
                                      source.get(),
                                      sourcePool(io, image.header()),
                                      snapshot))));
    } catch (CephException.NotFound e) {
      return Optional.empty(); // deleted meanwhile
    }
  }

  private static ListedSnapshot listed(
      String clusterId,
      IoContext io,
      JournalEntry entry,
      UUID source,
      long sourcePool,
      HeaderSnapshot snapshot) {
    return new ListedSnapshot(
        new VolumeId(clusterId, io.poolId(), entry.uuid()),
        new VolumeId(clusterId, sourcePool, source),
        snapshot.size(),
        snapshot.createdAt(),
        entry.groupId());
  }

  /**
   * The source is in the same pool, unless the SnapshotClass said otherwise: then the parent tells,
   * unless the snapshot's image was flattened.
   */
  private static long sourcePool(IoContext io, ImageHeader image) {
    return image.parent().map(ImageLink::poolId).orElse(io.poolId());
  }

  /** The uuid at the end of the source image's name. */
  private static Optional<UUID> sourceUuid(JournalEntry entry) {
    return entry.source().flatMap(ImageNames::uuidAtEnd);
  }

  /** A snapshot with its image, perhaps in the trash; a native one has no image of its own. */
  private record Found(Optional<ImageLocation> image, ListedSnapshot snapshot) {}
}
