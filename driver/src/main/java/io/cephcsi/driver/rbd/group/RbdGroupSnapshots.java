package io.cephcsi.driver.rbd.group;

import io.cephcsi.bindings.cls.HeaderSnapshot;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.journal.ClusterNames;
import io.cephcsi.driver.journal.GroupEntry;
import io.cephcsi.driver.journal.GroupJournal;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.journal.PoolMismatchException;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.rbd.group.GroupSnapshotCreation.Member;
import io.cephcsi.driver.rbd.image.ImageNames;
import io.cephcsi.driver.rbd.parameters.GroupParameters;
import io.cephcsi.driver.rbd.parameters.SnapshotParameters;
import io.cephcsi.driver.rbd.session.FlattenPolicy;
import io.cephcsi.driver.rbd.session.RbdSession;
import io.cephcsi.driver.rbd.session.RbdSessions;
import io.cephcsi.driver.rbd.snapshot.SnapshotImage;
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
 * Group snapshots: snapshots of several volumes at one point in time. Each becomes an ordinary CSI
 * snapshot, but is deleted with its group snapshot only.
 *
 * <p>A group snapshot is an entry of the group journal, with its snapshots' ids as keys. They are
 * recorded before anything is taken, so that the repeated call, or the deletion of a volume ({@link
 * GroupSnapshotRecovery}), finds what a crash left. All calls block on the cluster and may be
 * repeated after a crash at any point. Locks: the caller has that of the name (create) or the id;
 * then come those of volumes, in the order of their ids, and last the {@link GroupSnapshotLock},
 * which all drivers see.
 */
public final class RbdGroupSnapshots {
  private static final Logger LOG = LoggerFactory.getLogger(RbdGroupSnapshots.class);

  private static final String CREATE = "CreateVolumeGroupSnapshot";
  private static final String DELETE = "DeleteVolumeGroupSnapshot";

  private final RbdSessions sessions;

  /**
   * @param sessions of the calls
   */
  public RbdGroupSnapshots(RbdSessions sessions) {
    this.sessions = sessions;
  }

  /**
   * Takes snapshots of volumes, or gives those that the name has.
   *
   * @param requestName the name that the CO chose
   * @param sources the volumes; at least one
   * @param parameters of the VolumeGroupSnapshotClass
   * @throws VolumeException NOT_FOUND if a volume does not exist; INVALID_ARGUMENT if only the
   *     cluster mapping leads to one; FAILED_PRECONDITION if they cannot be taken together;
   *     ALREADY_EXISTS if the name is that of others; RESOURCE_EXHAUSTED for too many; ABORTED
   *     while another driver works on it
   */
  public GroupSnapshot create(
      String requestName, Set<VolumeId> sources, SnapshotParameters parameters, Credentials user) {
    VolumeId first = sources.iterator().next();
    GroupSnapshotSources.requireTogether(sources, parameters);
    List<String> ids = sources.stream().map(VolumeId::toString).toList();
    return sessions.in(
        requireCluster(first),
        user,
        session -> {
          try (OperationRegistry.Hold hold = session.operations().holdAll(ids, CREATE)) {
            IoContext io = session.pool(first).orElseThrow(() -> notHere(session, first));
            GroupSnapshotSources.requirePool(parameters, io);
            session.visitTrash(io);
            return create(new Taking(session, io, requestName, sources, parameters));
          }
        });
  }

  private ClusterConfig requireCluster(VolumeId volume) {
    ClusterDirectory clusters = sessions.clusters();
    if (clusters.find(volume.clusterId()).isEmpty()
        && clusters.mapping().alternatives(volume).stream()
            .anyMatch(at -> clusters.find(at.clusterId()).isPresent())) {
      throw GroupMembers.ofOtherSite(volume);
    }
    return clusters.requireOf(volume, "volume");
  }

  /** Of a volume whose pool does not exist. */
  private static VolumeException notHere(RbdSession session, VolumeId volume) {
    return session.find(volume).isPresent()
        ? GroupMembers.ofOtherSite(volume)
        : VolumeException.notFound("volume " + volume + " does not exist");
  }

  /** What one call is about. */
  private record Taking(
      RbdSession session,
      IoContext io,
      String requestName,
      Set<VolumeId> sources,
      SnapshotParameters parameters) {}

  private GroupSnapshot create(Taking taking) {
    RbdSession session = taking.session();
    IoContext io = taking.io();
    GroupJournal journal = session.groupJournal(io);
    List<GroupedVolume> sources;
    try {
      sources = new GroupMembers(session).requireAll(taking.sources(), io);
    } catch (VolumeException e) {
      if (e.reason() != Reason.NOT_FOUND) {
        throw e;
      }
      return takenBefore(taking, journal).orElseThrow(() -> e);
    }
    sources.forEach(source -> session.keys().requireKnownKms(source.volume().entry()));
    Optional<GroupEntry> known = journal.byName(taking.requestName());
    if (known.isPresent()) {
      requireSame(taking, OpenGroup.of(session, io, io, known.get()), sources);
    } else {
      sources.forEach(source -> requireRoom(taking, source));
    }
    Journal.Reservation reservation = reserve(journal, taking);
    OpenGroup group = OpenGroup.of(session, io, io, new GroupEntry(reservation.entry()));
    try (OperationRegistry.Hold own = session.operations().hold(group.id().toString(), CREATE);
        GroupSnapshotLock work = GroupSnapshotLock.begin(group, CREATE)) {
      return work.call(() -> create(taking, group, work, reservation.isNew(), sources));
    }
  }

  private GroupSnapshot create(
      Taking taking,
      OpenGroup group,
      GroupSnapshotLock work,
      boolean isNew,
      List<GroupedVolume> sources) {
    OpenGroup current = work.current().orElseThrow(() -> deletedMeanwhile(group));
    GroupSnapshotRemoval removal = new GroupSnapshotRemoval(current, work);
    if (!isNew) {
      requireSame(taking, current, sources); // another driver may have been at work since
      requireNotRemoving(removal);
    }
    try {
      return take(taking, removal, isNew, sources);
    } catch (CephException.OutcomeUnknown e) {
      throw e; // the outcome is unknown: the repeated call finds out
    } catch (CephException | VolumeException e) {
      if (isNew) {
        undo(current, work);
      }
      throw disturbed(e) ? conflict(group, e) : e;
    }
  }

  /** The volumes were looked at before: what is missing, or there, is so since. */
  private static boolean disturbed(RuntimeException e) {
    return e instanceof CephException.NotFound || e instanceof CephException.AlreadyExists;
  }

  /** To a CO both codes of the cluster would say that it need not repeat the call. */
  private static VolumeException conflict(OpenGroup group, RuntimeException e) {
    return new VolumeException(
        Reason.ABORTED,
        "group snapshot "
            + group.id()
            + " was changed meanwhile, by another driver or by a late command of one; try again ("
            + e.getMessage()
            + ")",
        e);
  }

  private static VolumeException deletedMeanwhile(OpenGroup group) {
    return new VolumeException(
        Reason.ABORTED, "group snapshot " + group.id() + " was deleted meanwhile");
  }

  private GroupSnapshot take(
      Taking taking, GroupSnapshotRemoval removal, boolean isNew, List<GroupedVolume> sources) {
    OpenGroup group = removal.group();
    List<Member> all =
        new GroupSnapshotReservation(group, taking.requestName(), taking.parameters().namePrefix())
            .reserve(sources)
            .orElseThrow(() -> endRemoval(removal, removal.parts()));
    List<Member> todo =
        all.stream()
            .filter(member -> SnapshotImage.finished(taking.io(), member.entry()).isEmpty())
            .toList();
    new GroupSnapshotCreation(removal, taking.parameters().labels()).make(todo, all, !isNew);
    GroupSnapshot made =
        describe(group, all.stream().map(Member::entry).map(JournalEntry::uuid).toList())
            .orElseThrow(() -> deletedMeanwhile(group));
    removal.work().require();
    return made;
  }

  /**
   * One that was taken completely of the same volumes, of which one is deleted by now: the answer
   * to the call that took it may have been lost.
   */
  private static Optional<GroupSnapshot> takenBefore(Taking taking, GroupJournal journal) {
    RbdSession session = taking.session();
    Optional<GroupEntry> entry =
        journal.byName(taking.requestName()).filter(GroupEntry::isOfSnapshots);
    if (entry.isEmpty()) {
      return Optional.empty();
    }
    OpenGroup group = OpenGroup.of(session, taking.io(), taking.io(), entry.get());
    try (OperationRegistry.Hold own = session.operations().hold(group.id().toString(), CREATE);
        GroupSnapshotLock work = GroupSnapshotLock.begin(group, CREATE)) {
      Optional<GroupSnapshot> taken =
          work.current()
              .flatMap(
                  now ->
                      describe(now, now.entry().snapshots().stream().map(VolumeId::uuid).toList()))
              .filter(made -> made.isOf(taking.sources()));
      work.require();
      return taken;
    }
  }

  private static void requireRoom(Taking taking, GroupedVolume source) {
    FlattenPolicy bounds = taking.session().bounds();
    IoContext io = taking.io();
    String image = source.volume().imageName();
    source.volume().requireDepth(source.imageId(), source.header());
    bounds.requireRoomForSnapshot(io, image, source.imageId(), source.header());
  }

  private void requireSame(Taking taking, OpenGroup known, List<GroupedVolume> sources) {
    boolean reservedOnly = known.entry().values().isEmpty() && known.groupId().isEmpty();
    if (!known.entry().isOfSnapshots() && !reservedOnly) {
      throw new VolumeException(
          Reason.ALREADY_EXISTS, "the name " + taking.requestName() + " is used by a volume group");
    }
    Set<String> wanted = new HashSet<>();
    sources.forEach(source -> wanted.add(source.volume().imageName()));
    if (reservedOnly) {
      return;
    }
    List<VolumeId> recorded = known.entry().snapshots();
    List<String> taken = new ArrayList<>();
    Journal journal = taking.session().journal(JournalKind.SNAPSHOT, taking.io());
    for (VolumeId id : recorded) {
      journal.byUuid(id.uuid()).flatMap(JournalEntry::source).ifPresent(taken::add);
    }
    if (!wanted.containsAll(taken) || recorded.size() != wanted.size()) {
      throw new VolumeException(
          Reason.ALREADY_EXISTS,
          "group snapshot " + taking.requestName() + " exists with other volumes");
    }
  }

  /** Its removal may have been interrupted; it has to end before the snapshot is taken again. */
  private static void requireNotRemoving(GroupSnapshotRemoval removal) {
    List<JournalEntry> parts = removal.parts();
    if (parts.size() == removal.group().entry().values().size()) {
      return;
    }
    throw endRemoval(removal, parts);
  }

  private static VolumeException endRemoval(
      GroupSnapshotRemoval removal, List<JournalEntry> parts) {
    return GroupSnapshotRemoval.mayHaveBeenReturned(parts)
        ? new VolumeException(
            Reason.ABORTED,
            "group snapshot "
                + removal.group().id()
                + " is being deleted or is incomplete: delete it first")
        : removal.removeUnreturned();
  }

  private static Journal.Reservation reserve(GroupJournal journal, Taking taking) {
    ClusterNames names = new GroupNames(taking.io(), GroupParameters.DEFAULT_PREFIX);
    try {
      return journal.reserve(taking.requestName(), names, Map.of());
    } catch (PoolMismatchException e) {
      throw new VolumeException(Reason.ALREADY_EXISTS, e.explain(), e);
    }
  }

  private void undo(OpenGroup group, GroupSnapshotLock work) {
    try {
      work.run(() -> new GroupSnapshotRemoval(group.with(group.reread()), work).all());
    } catch (CephException | VolumeException e) {
      LOG.warn(
          "the failed group snapshot {} could not be removed; the repeated call or"
              + " DeleteVolumeGroupSnapshot removes it: {}",
          group.id(),
          e.toString());
    }
  }

  /**
   * Deletes a group's snapshot with its snapshots. One that does not exist is deleted already.
   *
   * @param expected the ids of the snapshots that the CO takes it to have
   * @throws VolumeException INVALID_ARGUMENT if it has others; FAILED_PRECONDITION if one is in use
   */
  public void delete(VolumeId id, Set<String> expected, Credentials user) {
    sessions.ifPresent(
        "group snapshot", id, user, RbdGroupSnapshots::find, group -> delete(group, expected));
  }

  private static void delete(OpenGroup group, Set<String> expected) {
    group.entry().requireSnapshots(group.id(), expected);
    String name = OperationRegistry.groupName(group.entry().journal().requestName());
    try (OperationRegistry.Hold hold = group.session().operations().hold(name, DELETE);
        GroupSnapshotLock work = GroupSnapshotLock.begin(group, DELETE)) {
      work.current()
          .ifPresent(current -> work.run(() -> new GroupSnapshotRemoval(current, work).all()));
    }
  }

  /**
   * A group's snapshot.
   *
   * @param expected the ids of the snapshots that the CO takes it to have
   * @throws VolumeException NOT_FOUND if it does not exist; INVALID_ARGUMENT if it has others
   */
  public GroupSnapshot get(VolumeId id, Set<String> expected, Credentials user) {
    ClusterConfig cluster =
        sessions.clusters().find(id.clusterId()).orElseThrow(() -> notFound(id));
    return sessions.in(
        cluster,
        user,
        session -> {
          OpenGroup group = find(session, id).orElseThrow(() -> notFound(id));
          group.entry().requireSnapshots(group.id(), expected);
          return describe(group, group.entry().snapshots().stream().map(VolumeId::uuid).toList())
              .orElseThrow(() -> notFound(id));
        });
  }

  private static VolumeException notFound(VolumeId id) {
    return VolumeException.notFound("group snapshot " + id + " does not exist");
  }

  /** Empty if one of the snapshots is not complete. */
  private static Optional<GroupSnapshot> describe(OpenGroup group, List<UUID> uuids) {
    IoContext io = group.pool().io();
    Journal journal = group.session().journal(JournalKind.SNAPSHOT, io);
    List<CreatedSnapshot> described = new ArrayList<>();
    for (UUID uuid : uuids) {
      Optional<JournalEntry> entry = journal.byUuid(uuid);
      Optional<HeaderSnapshot> snapshot = entry.flatMap(e -> SnapshotImage.finished(io, e));
      Optional<UUID> source = entry.flatMap(JournalEntry::source).flatMap(ImageNames::uuidAtEnd);
      if (snapshot.isEmpty() || source.isEmpty()) {
        return Optional.empty();
      }
      described.add(
          new CreatedSnapshot(
              group.idOf(uuid),
              group.idOf(source.get()),
              snapshot.get().size(),
              snapshot.get().createdAt()));
    }
    Instant createdAt = group.reread().createdAt().orElse(described.get(0).createdAt());
    return Optional.of(new GroupSnapshot(group.id(), createdAt, described));
  }

  private static Optional<OpenGroup> find(RbdSession session, VolumeId id) {
    return session
        .pool(id)
        .flatMap(
            io ->
                session
                    .groupJournal(io)
                    .byUuid(id.uuid())
                    .filter(GroupEntry::isOfSnapshots)
                    .map(entry -> OpenGroup.of(session, io, io, entry)));
  }
}
