package io.cephcsi.driver.cephfs;

import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.journal.GroupEntry;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.volume.CreatedSnapshot;
import io.cephcsi.driver.volume.GroupSnapshot;
import io.cephcsi.driver.volume.GroupSources;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;

/**
 * Group snapshots: snapshots of several subvolumes at one point in time, taken while the MDS
 * quiesces their clients. Each becomes an ordinary CSI snapshot, but is deleted with its group
 * snapshot only.
 *
 * <p>A group snapshot is an entry of the group journal, with volume ids as keys and snapshot ids as
 * values. The entry is complete before the first snapshot is taken. All calls block on the cluster
 * and may be repeated after a crash at any point. Locks: the caller has that of the name (create)
 * or the id; then come those of the volumes, in the order of their ids.
 */
public final class CephFsGroupSnapshots {
  private static final String CREATE = "CreateVolumeGroupSnapshot";
  private static final String DELETE = "DeleteVolumeGroupSnapshot";
  private static final String NAME_PREFIX = "csi-vol-group-";
  private static final int MAX_VOLUMES = 500;

  private final CephFsVolumes volumes;
  private final OperationRegistry operations;

  /**
   * @param volumes the volumes that are snapshotted
   * @param operations where volumes and names are locked
   */
  public CephFsGroupSnapshots(CephFsVolumes volumes, OperationRegistry operations) {
    this.volumes = volumes;
    this.operations = operations;
  }

  /**
   * Takes snapshots of volumes, or gives those that the name has.
   *
   * @param requestName the name that the CO chose
   * @param sources the volumes; at least one
   * @param clusterId of the VolumeGroupSnapshotClass; empty when it does not say
   * @param namePrefix begins the names on the cluster
   * @throws VolumeException UNIMPLEMENTED if the cluster cannot quiesce; NOT_FOUND if a volume does
   *     not exist; INVALID_ARGUMENT for a shallow one; FAILED_PRECONDITION if they are in several
   *     file systems; ALREADY_EXISTS if the name is that of others; RESOURCE_EXHAUSTED for too
   *     many; ABORTED if their clients did not stand still, or another driver works on it
   */
  public GroupSnapshot create(
      String requestName,
      Set<VolumeId> sources,
      Optional<String> clusterId,
      String namePrefix,
      Credentials user) {
    VolumeId first = sources.iterator().next();
    GroupSources.requireTogether(sources, MAX_VOLUMES, clusterId, "file systems");
    ClusterConfig cluster = volumes.clusters().requireOf(first, "volume");
    List<String> ids = sources.stream().map(VolumeId::toString).toList();
    return volumes.changing(
        cluster,
        user,
        lease -> {
          QuiesceSupport.require(lease);
          OpenFileSystem files =
              OpenFileSystem.withId(lease, first.location(), volumes.instanceId())
                  .orElseThrow(() -> noVolume(first))
                  .with(volumes.keys(user));
          try (OperationRegistry.Hold hold = operations.holdAll(ids, CREATE)) {
            List<OpenVolume> open;
            try {
              open = open(files, sources);
            } catch (VolumeException e) {
              if (e.reason() == Reason.NOT_FOUND) {
                return takenBefore(requestName, sources, files).orElseThrow(() -> e);
              }
              throw e;
            }
            return create(requestName, open, files, namePrefix);
          }
        });
  }

  private static VolumeException noVolume(VolumeId id) {
    return VolumeException.notFound("volume " + id + " does not exist");
  }

  private static List<OpenVolume> open(OpenFileSystem files, Set<VolumeId> ids) {
    List<OpenVolume> open = new ArrayList<>();
    for (VolumeId id : ids) {
      OpenVolume volume =
          files
              .volumes()
              .byUuid(id.uuid())
              .map(entry -> new OpenVolume(id, files, entry))
              .orElseThrow(() -> noVolume(id));
      volume.requireNotShallow(CREATE);
      files.keys().requireKnownKms(volume.entry());
      open.add(volume);
    }
    return open;
  }

  /**
   * The snapshots that an earlier call took of volumes of which one is deleted by now; what is left
   * of a call that did not come so far is removed.
   */
  private Optional<GroupSnapshot> takenBefore(
      String requestName, Set<VolumeId> sources, OpenFileSystem files) {
    Optional<GroupEntry> found =
        files.groups().byName(requestName).filter(entry -> mayBeOf(entry, sources));
    if (found.isEmpty()) {
      return Optional.empty();
    }
    VolumeId id = files.id(found.get().journal().uuid());
    try (OperationRegistry.Hold own = operations.hold(id.toString(), CREATE)) {
      GroupSnapshotCreation taking =
          new GroupSnapshotCreation(files, volumes.trackers(), found.get(), "");
      if (taking.isDone()) {
        return Optional.of(answer(files, id));
      }
      taking.abandon(sources);
      return Optional.empty();
    }
  }

  private GroupSnapshot create(
      String requestName, List<OpenVolume> sources, OpenFileSystem files, String namePrefix) {
    Journal.Reservation reserved =
        files.groups().reserve(requestName, uuid -> NAME_PREFIX + uuid, Map.of());
    VolumeId id = files.id(reserved.entry().uuid());
    try (OperationRegistry.Hold own = operations.hold(id.toString(), CREATE)) {
      GroupEntry entry = new GroupEntry(reserved.entry());
      requireSame(entry, sources);
      GroupSnapshotCreation taking =
          new GroupSnapshotCreation(files, volumes.trackers(), entry, namePrefix);
      if (!taking.isDone()) {
        taking.carryOut(sources, reserved.isNew());
      }
      return answer(files, id);
    }
  }

  private GroupSnapshot answer(OpenFileSystem files, VolumeId id) {
    GroupSnapshot taken = describe(files, id, reread(files, id)).orElseThrow(() -> incomplete(id));
    for (CreatedSnapshot snapshot : taken.snapshots()) {
      JournalEntry entry =
          files.snapshots().byUuid(snapshot.id().uuid()).orElseThrow(() -> incomplete(id));
      backing(files, snapshot.id()).track(entry);
    }
    return taken;
  }

  private static VolumeException incomplete(VolumeId id) {
    return new VolumeException(
        Reason.ABORTED,
        "group snapshot " + id + " is being deleted or is incomplete: delete it first");
  }

  /**
   * Nothing is recorded of one that was reserved just now, or by a process that died soon after.
   */
  private static boolean mayBeOf(GroupEntry known, Set<VolumeId> sources) {
    return known.values().isEmpty() || known.values().keySet().equals(sources);
  }

  private static void requireSame(GroupEntry known, List<OpenVolume> sources) {
    Set<VolumeId> wanted = new HashSet<>(sources.stream().map(OpenVolume::id).toList());
    if (!mayBeOf(known, wanted)) {
      throw new VolumeException(
          Reason.ALREADY_EXISTS,
          "group snapshot " + known.journal().requestName() + " exists with other volumes");
    }
  }

  private static GroupEntry reread(OpenFileSystem files, VolumeId id) {
    return files
        .groups()
        .byUuid(id.uuid())
        .orElseThrow(
            () ->
                new VolumeException(
                    Reason.ABORTED, "group snapshot " + id + " was deleted meanwhile"));
  }

  private BackingSnapshot backing(OpenFileSystem files, VolumeId snapshot) {
    return BackingSnapshot.of(files, volumes.trackers(), snapshot.toString());
  }

  /** Empty if one of the snapshots is gone, or deleted, though shallow volumes may show it. */
  private Optional<GroupSnapshot> describe(OpenFileSystem files, VolumeId id, GroupEntry entry) {
    List<VolumeId> sources = entry.members();
    List<JournalEntry> entries = new ArrayList<>();
    for (VolumeId source : sources) {
      VolumeId.parse(entry.values().getOrDefault(source, ""))
          .flatMap(snapshot -> files.snapshots().byUuid(snapshot.uuid()))
          .filter(
              found ->
                  files.admin().snapshotInfo(found.source().orElse(""), found.name()).isPresent())
          .filter(found -> !backing(files, files.id(found.uuid())).isDeleted(found))
          .ifPresent(entries::add);
    }
    List<Optional<ResolvedSnapshot>> found =
        entries.size() == sources.size() ? volumes.paths().findAll(files, entries) : List.of();
    List<CreatedSnapshot> described = new ArrayList<>();
    for (int i = 0; i < found.size() && found.get(i).isPresent(); i++) {
      described.add(
          new CreatedSnapshot(
              files.id(entries.get(i).uuid()),
              sources.get(i),
              found.get(i).get().size(),
              found.get(i).get().createdAt()));
    }
    if (described.isEmpty() || described.size() < sources.size()) {
      return Optional.empty();
    }
    Instant createdAt = entry.createdAt().orElse(described.get(0).createdAt());
    return Optional.of(new GroupSnapshot(id, createdAt, described));
  }

  /**
   * Deletes a group's snapshot with its snapshots; those that shallow volumes show stay in the file
   * system. One that does not exist is deleted already.
   *
   * @param expected the ids of the snapshots that the CO takes it to have
   * @throws VolumeException INVALID_ARGUMENT if it has others; FAILED_PRECONDITION if one is being
   *     copied; ABORTED while another driver takes it
   */
  public void delete(VolumeId id, Set<String> expected, Credentials user) {
    volumes.changing(
        volumes.clusters().holding(id, "group snapshot"),
        user,
        lease -> {
          OpenFileSystem.withId(lease, id.location(), volumes.instanceId())
              .map(files -> files.with(volumes.keys(user)))
              .ifPresent(
                  files -> find(files, id).ifPresent(entry -> delete(files, id, entry, expected)));
          return null;
        });
  }

  private static Optional<GroupEntry> find(OpenFileSystem files, VolumeId id) {
    return files.groups().byUuid(id.uuid()).filter(GroupEntry::isOfSnapshots);
  }

  private void delete(OpenFileSystem files, VolumeId id, GroupEntry entry, Set<String> expected) {
    entry.requireSnapshots(id, expected);
    Map<VolumeId, JournalEntry> parts = new LinkedHashMap<>();
    for (VolumeId snapshot : entry.snapshots()) {
      files.snapshots().byUuid(snapshot.uuid()).ifPresent(part -> parts.put(snapshot, part));
    }
    parts.values().forEach(files.keys()::requireKnownKms);
    try (OperationRegistry.Hold hold =
        operations.hold(OperationRegistry.groupName(entry.journal().requestName()), DELETE)) {
      new GroupSnapshotCreation(files, volumes.trackers(), entry, "")
          .supersede(UUID.randomUUID().toString(), true);
      parts.forEach(
          (snapshot, part) -> {
            try (OperationRegistry.Hold name =
                operations.hold(OperationRegistry.snapshotName(part.requestName()), DELETE)) {
              backing(files, snapshot).delete(part);
            }
          });
      files.groups().remove(entry.journal());
    }
  }

  /**
   * A group's snapshot.
   *
   * @param expected the ids of the snapshots that the CO takes it to have
   * @throws VolumeException NOT_FOUND if it does not exist; INVALID_ARGUMENT if it has others
   */
  public GroupSnapshot get(VolumeId id, Set<String> expected, Credentials user) {
    ClusterConfig cluster = volumes.clusters().find(id.clusterId()).orElseThrow(() -> notFound(id));
    return volumes.connected(
        cluster,
        user,
        lease -> {
          OpenFileSystem files =
              OpenFileSystem.withId(lease, id.location(), volumes.instanceId())
                  .orElseThrow(() -> notFound(id));
          GroupEntry entry = find(files, id).orElseThrow(() -> notFound(id));
          entry.requireSnapshots(id, expected);
          if (!new GroupSnapshotCreation(files, volumes.trackers(), entry, "").isDone()) {
            throw notFound(id);
          }
          return describe(files, id, entry).orElseThrow(() -> notFound(id));
        });
  }

  private static VolumeException notFound(VolumeId id) {
    return VolumeException.notFound("group snapshot " + id + " does not exist");
  }
}
