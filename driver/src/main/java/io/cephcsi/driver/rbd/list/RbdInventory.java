package io.cephcsi.driver.rbd.list;

import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.ImageSummary;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.DriverConnections;
import io.cephcsi.driver.cluster.ParallelReads;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.journal.AttachmentJournal;
import io.cephcsi.driver.journal.ClusterView;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalDirectory.Name;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.journal.Listing;
import io.cephcsi.driver.rbd.session.OpenVolume;
import io.cephcsi.driver.rbd.session.RbdSessions;
import io.cephcsi.driver.volume.Inventory;
import io.cephcsi.driver.volume.ListPage;
import io.cephcsi.driver.volume.ListedSnapshot;
import io.cephcsi.driver.volume.ListedVolume;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeId;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Lists RBD volumes and snapshots, and reads the condition of a volume. */
public final class RbdInventory implements Inventory {
  private final DriverConnections access;
  private final ClusterExecutors executors;
  private final RbdSessions sessions;
  private final String instanceId;
  private final SnapshotSources sources = new SnapshotSources();

  /**
   * @param access the clusters
   * @param executors threads to read with
   * @param sessions of single volumes
   * @param instanceId tells several drivers on one pool apart
   */
  public RbdInventory(
      DriverConnections access,
      ClusterExecutors executors,
      RbdSessions sessions,
      String instanceId) {
    this.access = access;
    this.executors = executors;
    this.sessions = sessions;
    this.instanceId = instanceId;
  }

  /** See {@link Listing} and {@link VolumeReader} for what it costs. */
  @Override
  public ListPage<ListedVolume> volumes(int maxEntries, String token) {
    VolumeReader reader = new VolumeReader(instanceId);
    return new Listing<>(
            access, executors, JournalKind.VOLUME, instanceId, reader, maxEntries, token)
        .read();
  }

  /** See {@link Listing} and {@link SnapshotReader} for what it costs. */
  @Override
  public ListPage<ListedSnapshot> snapshots(
      Optional<VolumeId> source, Map<String, String> secrets, int maxEntries, String token) {
    SnapshotReader reader = new SnapshotReader(instanceId, sources, source);
    return new Listing<>(
            access.of(secrets),
            executors,
            JournalKind.SNAPSHOT,
            instanceId,
            reader,
            maxEntries,
            token)
        .read();
  }

  /** In seven round trips. */
  @Override
  public Optional<ListedSnapshot> snapshot(VolumeId id, Map<String, String> secrets) {
    if (access.find(id.clusterId()).isEmpty()) {
      return Optional.empty();
    }
    Credentials user = access.credentials(id.clusterId(), secrets);
    return access.connected(
        access.require(id.clusterId()),
        user,
        lease -> {
          ClusterView cluster =
              ClusterView.of(
                  lease, new ParallelReads(executors.reads(Storage.RBD, id.clusterId())));
          Name name = new Name("", id.uuid(), id.location());
          return cluster
              .io(Storage.RBD, id.location())
              .filter(
                  io -> // says what is wrong with an entry, where lists only leave it out
                  new Journal(JournalKind.SNAPSHOT, instanceId, io, io)
                          .byUuid(id.uuid())
                          .isPresent())
              .flatMap(
                  io ->
                      new SnapshotReader(instanceId, sources, Optional.empty())
                          .read(cluster, io, List.of(name))
                          .get(0));
        });
  }

  /** Its image is opened, which tells more than lists can: who mirrors it. */
  @Override
  public ListedVolume volume(VolumeId id) {
    Credentials user = access.credentials(id, Map.of());
    return sessions.with(id, user, volume -> describe(volume));
  }

  private ListedVolume describe(OpenVolume volume) {
    ClusterView cluster =
        ClusterView.of(
            volume.lease(),
            new ParallelReads(executors.reads(Storage.RBD, volume.id().clusterId())));
    IoContext io = volume.pool().io();
    Optional<ImageSummary> image =
        ImageId.find(volume.pool(), volume.entry().name())
            .flatMap(imageId -> ImageSummary.read(io, imageId));
    return new ListedVolume(
        volume.id(),
        image.map(ImageSummary::size).orElse(0L),
        Map.of(
            "clusterID", volume.id().clusterId(),
            "pool", io.pool(),
            "journalPool", volume.journalPool().pool(),
            "imageName", volume.entry().name()),
        AttachmentJournal.nodes(volume.entry()),
        image.isPresent()
            ? VolumeReader.problem(cluster, io, image.get()).or(() -> problemOf(volume))
            : Optional.of(missing(volume)));
  }

  /** What only an open image shows; one that cannot be opened, as a parent is gone, shows that. */
  private static Optional<String> problemOf(OpenVolume volume) {
    try (RbdImage image = volume.openReadOnly()) {
      return image
          .mirroring()
          .filter(mirror -> !mirror.primary())
          .map(mirror -> "the image is a mirror's secondary: it cannot be written here");
    } catch (VolumeException e) {
      if (e.reason() == VolumeException.Reason.FAILED_PRECONDITION) {
        return Optional.of(String.valueOf(e.getMessage()));
      }
      throw e;
    } catch (CephException e) {
      if (e.isOfDamage()) {
        return Optional.of(String.valueOf(e.getMessage()));
      }
      throw e;
    }
  }

  private static String missing(OpenVolume volume) {
    String image = volume.pool().io().pool() + "/" + volume.entry().name();
    boolean inTrash =
        volume
            .entry()
            .imageId()
            .filter(id -> !ImageSummary.inTrash(volume.pool().io(), List.of(id)).isEmpty())
            .isPresent();
    return inTrash ? "image " + image + " is in the trash" : "image " + image + " is missing";
  }
}
