package io.cephcsi.driver.rbd;

import io.cephcsi.bindings.cls.Ancestry;
import io.cephcsi.bindings.cls.HeaderSnapshot;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.cluster.ParallelReads;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.journal.ClusterNames;
import io.cephcsi.driver.journal.GroupEntry;
import io.cephcsi.driver.journal.GroupJournal;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.journal.PoolMismatchException;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.rbd.GroupSnapshotMaker.Member;
import io.cephcsi.driver.volume.CreatedSnapshot;
import io.cephcsi.driver.volume.GroupSnapshot;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Snapshots of several volumes at one point in time. Each becomes a CSI snapshot like any other,
 * which can be restored; only its deletion is that of the group's.
 *
 * <p>The group's snapshot is an entry of the journal of groups, with its snapshots' ids as keys;
 * they are recorded before anything is taken, so that whatever dies is found by the retry, or by
 * the deletion of a volume ({@link GroupSnapshotRecovery}). All calls block on the cluster and may
 * be repeated after a crash at any point. Locks: the caller has that of the name (create) or the
 * id; then come those of volumes, in the order of their ids, and last the {@link GroupWork}, which
 * other drivers see.
 */
public final class RbdGroupSnapshots {
  private static final Logger LOG = LoggerFactory.getLogger(RbdGroupSnapshots.class);

  private static final String CREATE = "CreateVolumeGroupSnapshot";
  private static final String DELETE = "DeleteVolumeGroupSnapshot";

  private final RbdVolumes volumes;
  private final ClusterDirectory clusters;
  private final ClusterExecutors executors;
  private final OperationRegistry operations;
  private final RbdSettings settings;

  /**
   * @param volumes the volumes that are snapshotted
   * @param clusters the configured clusters
   * @param executors threads to read with
   * @param operations where volumes and names are locked
   * @param settings how snapshots are treated
   */
  public RbdGroupSnapshots(
      RbdVolumes volumes,
      ClusterDirectory clusters,
      ClusterExecutors executors,
      OperationRegistry operations,
      RbdSettings settings) {
    this.volumes = volumes;
    this.clusters = clusters;
    this.executors = executors;
    this.operations = operations;
    this.settings = settings;
  }

  /**
   * Takes snapshots of volumes, or gives those that the name has.
   *
   * @param requestName the name that the CO chose
   * @param sources the volumes; at least one
   * @param parameters of the VolumeGroupSnapshotClass
   * @throws VolumeException NOT_FOUND if a volume does not exist; FAILED_PRECONDITION if they
   *     cannot be taken together; ALREADY_EXISTS if the name is that of others; RESOURCE_EXHAUSTED
   *     for too many; ABORTED while another driver works on it
   */
  public GroupSnapshot create(
      String requestName, Set<VolumeId> sources, SnapshotParameters parameters, Credentials user) {
    VolumeId first = sources.iterator().next();
    GroupSnapshotSources.requireTogether(sources, parameters);
    ClusterConfig cluster = clusters.requireOf(first, "volume");
    List<String> ids = sources.stream().map(VolumeId::toString).toList();
    return volumes.connected(
        cluster,
        user,
        lease -> {
          try (OperationRegistry.Hold hold = operations.holdAll(ids, CREATE)) {
            IoContext io =
                RbdVolumes.poolOf(first, lease)
                    .orElseThrow(
                        () -> VolumeException.notFound("volume " + first + " does not exist"));
            GroupSnapshotSources.requirePool(parameters, io);
            volumes.purger().visit(cluster, user, io);
            return create(new Taking(lease, io, requestName, sources, parameters, user));
          }
        });
  }

  /** What one call is about. */
  private record Taking(
      Lease lease,
      IoContext io,
      String requestName,
      Set<VolumeId> sources,
      SnapshotParameters parameters,
      Credentials user) {}

  private GroupSnapshot create(Taking taking) {
    GroupMembers members = members(taking.lease(), taking.user());
    List<GroupedVolume> sources = members.requireAll(taking.sources());
    sources.forEach(
        source -> Encryption.requireNone("volume " + source.id(), source.volume().entry()));
    GroupJournal journal = groupJournal(taking.io());
    Optional<GroupEntry> known = journal.byName(taking.requestName());
    if (known.isPresent()) {
      requireSame(taking, open(taking.lease(), taking.io(), known.get()), sources);
    } else {
      sources.forEach(source -> requireRoom(taking, source));
    }
    Journal.Reservation reservation = reserve(journal, taking);
    OpenGroup group = open(taking.lease(), taking.io(), new GroupEntry(reservation.entry()));
    try (OperationRegistry.Hold own = operations.hold(group.id().toString(), CREATE);
        GroupWork work = GroupWork.begin(group, CREATE)) {
      OpenGroup current = work.current().orElseThrow(() -> deletedMeanwhile(group));
      GroupSnapshotRemoval removal = removal(current, work, taking.user());
      if (!reservation.isNew()) {
        requireSame(taking, current, sources); // another driver may have been at work since
        requireNotRemoving(removal);
      }
      try {
        return take(taking, removal, reservation.isNew(), sources);
      } catch (CephException.TimedOut | CephException.Blocklisted e) {
        throw e; // nobody knows how far it came: the retry finds out
      } catch (CephException | VolumeException e) {
        if (reservation.isNew()) {
          undo(current, work, taking.user());
        }
        throw e;
      }
    }
  }

  private static VolumeException deletedMeanwhile(OpenGroup group) {
    return new VolumeException(
        Reason.ABORTED, "group snapshot " + group.id() + " was deleted meanwhile");
  }

  private GroupSnapshot take(
      Taking taking, GroupSnapshotRemoval removal, boolean isNew, List<GroupedVolume> sources) {
    OpenGroup group = removal.group();
    Journal journal = snapshotJournal(taking.io());
    List<Member> all =
        new GroupSnapshotReservation(
                journal, group, taking.requestName(), taking.parameters().namePrefix())
            .reserve(sources)
            .orElseThrow(() -> endRemoval(removal, removal.parts()));
    List<Member> todo =
        all.stream()
            .filter(member -> RbdSnapshots.finished(taking.io(), member.entry()).isEmpty())
            .toList();
    new GroupSnapshotMaker(removal, members(taking.lease(), taking.user()), settings.labels())
        .make(journal, todo, all, !isNew, taking.parameters().labels());
    GroupSnapshot made =
        describe(group, all.stream().map(Member::entry).map(JournalEntry::uuid).toList())
            .orElseThrow(() -> deletedMeanwhile(group));
    removal.work().require();
    return made;
  }

  private GroupSnapshotRemoval removal(OpenGroup group, GroupWork work, Credentials user) {
    return new GroupSnapshotRemoval(
        group,
        work,
        settings.instanceId(),
        operations,
        image -> volumes.purger().purge(group.lease().config(), user, group.pool().io(), image));
  }

  private void requireRoom(Taking taking, GroupedVolume source) {
    ClusterConfig cluster = taking.lease().config();
    CloneBounds bounds = volumes.bounds();
    String image = source.volume().imageName();
    bounds.requireDepth(
        () -> volumes.lease(cluster, taking.user()),
        taking.io(),
        image,
        Ancestry.require(taking.io(), source.imageId(), source.header()) + 1);
    bounds.requireRoomForSnapshot(
        () -> volumes.lease(cluster, taking.user()),
        taking.io(),
        image,
        source.imageId(),
        source.header());
  }

  private void requireSame(Taking taking, OpenGroup known, List<GroupedVolume> sources) {
    boolean reservedOnly = known.entry().values().isEmpty() && known.groupId().isEmpty();
    if (!known.entry().isOfSnapshots() && !reservedOnly) {
      throw new VolumeException(
          Reason.ALREADY_EXISTS, "the name " + taking.requestName() + " belongs to a volume group");
    }
    Set<String> wanted = new HashSet<>();
    sources.forEach(source -> wanted.add(source.volume().imageName()));
    if (reservedOnly) {
      return;
    }
    List<VolumeId> recorded = known.entry().snapshots();
    List<String> taken = new ArrayList<>();
    Journal journal = snapshotJournal(taking.io());
    for (VolumeId id : recorded) {
      journal.byUuid(id.uuid()).flatMap(JournalEntry::source).ifPresent(taken::add);
    }
    if (!wanted.containsAll(taken) || recorded.size() != wanted.size()) {
      throw new VolumeException(
          Reason.ALREADY_EXISTS,
          "group snapshot " + taking.requestName() + " exists, of other volumes");
    }
  }

  /** A process may have died over its removal, which is to end before it is taken anew. */
  private static void requireNotRemoving(GroupSnapshotRemoval removal) {
    List<JournalEntry> parts = removal.parts();
    if (parts.size() == removal.group().entry().values().size()) {
      return;
    }
    throw endRemoval(removal, parts);
  }

  private static VolumeException endRemoval(
      GroupSnapshotRemoval removal, List<JournalEntry> parts) {
    return GroupSnapshotRemoval.maybePromised(parts)
        ? new VolumeException(
            Reason.ABORTED,
            "group snapshot "
                + removal.group().id()
                + " is being deleted, or has lost a snapshot: delete it first")
        : removal.removeUnpromised();
  }

  private static Journal.Reservation reserve(GroupJournal journal, Taking taking) {
    ClusterNames names = new GroupNames(taking.io(), GroupParameters.DEFAULT_PREFIX);
    try {
      return journal.reserve(taking.requestName(), names, Map.of());
    } catch (PoolMismatchException e) {
      throw new VolumeException(Reason.ALREADY_EXISTS, e.explain(), e);
    }
  }

  private void undo(OpenGroup group, GroupWork work, Credentials user) {
    try {
      removal(group.with(group.reread()), work, user).all();
    } catch (CephException | VolumeException e) {
      LOG.warn("what was made of group snapshot {} stays: {}", group.id(), e.toString());
    }
  }

  /**
   * Deletes a group's snapshot with its snapshots. One that does not exist is deleted already.
   *
   * @param expected the ids of the snapshots that the CO takes it to have
   * @throws VolumeException INVALID_ARGUMENT if it has others; FAILED_PRECONDITION if one is in use
   */
  public void delete(VolumeId id, Set<String> expected, Credentials user) {
    ClusterConfig cluster = clusters.holding(id, "group snapshot");
    volumes.connected(
        cluster,
        user,
        lease -> {
          find(id, lease)
              .ifPresent(
                  group -> {
                    group.entry().requireSnapshots(group.id(), expected);
                    try (OperationRegistry.Hold hold =
                            operations.hold(
                                OperationRegistry.groupName(group.entry().journal().requestName()),
                                DELETE);
                        GroupWork work = GroupWork.begin(group, DELETE)) {
                      work.current().ifPresent(current -> removal(current, work, user).all());
                    }
                  });
          return null;
        });
  }

  /**
   * A group's snapshot.
   *
   * @param expected the ids of the snapshots that the CO takes it to have
   * @throws VolumeException NOT_FOUND if it does not exist; INVALID_ARGUMENT if it has others
   */
  public GroupSnapshot get(VolumeId id, Set<String> expected, Credentials user) {
    ClusterConfig cluster = clusters.clusters().get(id.clusterId());
    if (cluster == null) {
      throw notFound(id);
    }
    return volumes.connected(
        cluster,
        user,
        lease -> {
          OpenGroup group = find(id, lease).orElseThrow(() -> notFound(id));
          group.entry().requireSnapshots(group.id(), expected);
          return describe(group, group.entry().snapshots().stream().map(VolumeId::uuid).toList())
              .orElseThrow(() -> notFound(id));
        });
  }

  private static VolumeException notFound(VolumeId id) {
    return VolumeException.notFound("group snapshot " + id + " does not exist");
  }

  /** Empty if one of the snapshots is not complete. */
  private Optional<GroupSnapshot> describe(OpenGroup group, List<UUID> uuids) {
    IoContext io = group.pool().io();
    Journal journal = snapshotJournal(io);
    List<CreatedSnapshot> described = new ArrayList<>();
    for (UUID uuid : uuids) {
      Optional<JournalEntry> entry = journal.byUuid(uuid);
      Optional<HeaderSnapshot> snapshot = entry.flatMap(e -> RbdSnapshots.finished(io, e));
      Optional<UUID> source =
          entry.flatMap(JournalEntry::source).flatMap(SnapshotReader::uuidAtEnd);
      if (snapshot.isEmpty() || source.isEmpty()) {
        return Optional.empty();
      }
      described.add(
          new CreatedSnapshot(
              idOf(group, uuid),
              idOf(group, source.get()),
              snapshot.get().size(),
              snapshot.get().createdAt()));
    }
    Instant createdAt = group.reread().createdAt().orElse(described.get(0).createdAt());
    return Optional.of(new GroupSnapshot(group.id(), createdAt, described));
  }

  private static VolumeId idOf(OpenGroup group, UUID uuid) {
    return new VolumeId(group.id().clusterId(), group.id().location(), uuid);
  }

  private Optional<OpenGroup> find(VolumeId id, Lease lease) {
    return RbdVolumes.poolOf(id, lease)
        .flatMap(
            io ->
                groupJournal(io)
                    .byUuid(id.uuid())
                    .filter(GroupEntry::isOfSnapshots)
                    .map(entry -> open(lease, io, entry)));
  }

  private OpenGroup open(Lease lease, IoContext io, GroupEntry entry) {
    VolumeId id = new VolumeId(lease.config().clusterId(), io.poolId(), entry.journal().uuid());
    return new OpenGroup(id, lease, new RbdPool(io), io, groupJournal(io), entry);
  }

  private GroupMembers members(Lease lease, Credentials user) {
    return new GroupMembers(
        volumes.recovery(lease, user),
        lease,
        volumes::find,
        new ParallelReads(executors.reads(Storage.RBD, lease.config().clusterId())));
  }

  private GroupJournal groupJournal(IoContext io) {
    return new GroupJournal(settings.instanceId(), io, io);
  }

  private Journal snapshotJournal(IoContext io) {
    return new Journal(JournalKind.SNAPSHOT, settings.instanceId(), io, io);
  }
}
