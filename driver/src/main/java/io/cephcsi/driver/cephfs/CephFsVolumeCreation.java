package io.cephcsi.driver.cephfs;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.driver.encryption.EncryptionRequest;
import io.cephcsi.driver.journal.AttachmentJournal;
import io.cephcsi.driver.journal.Journal.Reservation;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.tracker.Trackers;
import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.ContentSource;
import io.cephcsi.driver.volume.CreatedVolume;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One CreateVolume: reserves the name in the journal, then creates a subvolume, a clone or a
 * shallow volume; or finds what an earlier call created.
 */
final class CephFsVolumeCreation {
  private static final Logger LOG = LoggerFactory.getLogger(CephFsVolumeCreation.class);
  private static final String NOT_REMOVED =
      "the journal entry of {} could not be removed; the repeated call uses or removes it: {}";

  /** Why a volume is not given that is there, or may be: the retry finds out. */
  private static final Set<Reason> EXISTS =
      Set.of(Reason.ALREADY_EXISTS, Reason.ABORTED, Reason.UNAVAILABLE);

  private final OpenFileSystem files;
  private final CephFsRequest request;
  private final SnapshotPaths paths;
  private final KnownSubvolumes known;
  private final Trackers trackers;
  private final OperationRegistry operations;
  private final CopyWait wait;

  CephFsVolumeCreation(
      OpenFileSystem files,
      CephFsRequest request,
      SnapshotPaths paths,
      KnownSubvolumes known,
      Trackers trackers,
      OperationRegistry operations,
      CopyWait wait) {
    this.files = files;
    this.request = request;
    this.paths = paths;
    this.known = known;
    this.trackers = trackers;
    this.operations = operations;
    this.wait = wait;
  }

  /** Makes the volume. */
  CreatedVolume make() {
    CephFsParameters parameters = request.parameters();
    parameters
        .encryption()
        .ifPresent(wanted -> files.keys().requirePossible(wanted, parameters.owner()));
    if (request.source().isEmpty()) {
      return make(new VolumeContent.Empty());
    }
    ContentSource source = request.source().get();
    try (OperationRegistry.Hold hold = operations.share(source.id().toString(), "CreateVolume")) {
      VolumeContent content;
      try {
        content = new VolumeSources(files, request, paths, trackers).find(source);
      } catch (VolumeException e) {
        if (e.reason() == Reason.NOT_FOUND || e.reason() == Reason.OUT_OF_RANGE) {
          return begunBefore(source).orElseThrow(() -> e);
        }
        throw e;
      }
      return make(content);
    }
  }

  /**
   * The volume that an earlier call made, or had copied, from a source that is gone or has grown by
   * now.
   *
   * @return empty if there is none; what is left of an attempt is removed
   */
  private Optional<CreatedVolume> begunBefore(ContentSource source) {
    Optional<JournalEntry> found = files.volumes().byName(request.name());
    if (found.isEmpty()) {
      return Optional.empty();
    }
    JournalEntry entry = found.get();
    EncryptionRequest.requireSame(request.parameters().encryption(), entry);
    if (AttachmentJournal.isBeingDeleted(entry)) {
      endDeletion(entry);
      return Optional.empty();
    }
    if (entry.backingSnapshot().isPresent()) {
      return request.wantsShallow() && mayShow(entry, source)
          ? shownBefore(entry)
          : Optional.empty();
    }
    return entry.contentSource().equals(Optional.of(source.id().toString()))
        ? copiedBefore(entry)
        : Optional.empty();
  }

  /** Which shallow volume it was made from is not recorded. */
  private static boolean mayShow(JournalEntry entry, ContentSource source) {
    return source instanceof ContentSource.OfVolume
        || entry.backingSnapshot().equals(Optional.of(source.id().toString()));
  }

  private Optional<CreatedVolume> copiedBefore(JournalEntry entry) {
    Optional<CloneStatus> status = files.admin().cloneStatus(entry.name());
    if (status.isEmpty() || status.get().state() == CloneStatus.State.FAILED) {
      if (status.isPresent()) {
        endDeletion(entry);
      } else {
        removeSource(entry);
        files.undo(entry);
      }
      return Optional.empty();
    }
    return advance(entry, "", Optional.empty());
  }

  /** Of a volume that was not made, but may be by a command that is under way. */
  private void removeSource(JournalEntry entry) {
    files.deletedNames().whileVolumeGoes(entry, () -> CephFsCloner.removeSource(files, entry));
  }

  private Optional<CreatedVolume> shownBefore(JournalEntry entry) {
    BackingSnapshot backing =
        BackingSnapshot.of(files, trackers, entry.backingSnapshot().orElseThrow());
    Optional<JournalEntry> snapshot = backing.entry();
    Optional<ResolvedSnapshot> resolved =
        snapshot.filter(seen -> backing.holds(entry.name())).flatMap(s -> paths.find(files, s));
    if (resolved.isPresent()) {
      return Optional.of(shown(entry, resolved.get()));
    }
    if (snapshot.isPresent()) {
      backing.release(entry.name());
    } else {
      backing.forget(entry.name());
    }
    files.undo(entry);
    return Optional.empty();
  }

  private CreatedVolume make(VolumeContent content) {
    Reservation reserved = reserve(content);
    Optional<SubvolumeInfo> present = Optional.empty();
    if (!reserved.isNew()) {
      present = present(reserved.entry());
      if (isHalfDeleted(reserved.entry(), present)) {
        endDeletion(reserved.entry());
        reserved = reserve(content);
        present = Optional.empty();
      }
    }
    if (!reserved.isNew()) {
      ContentCheck.require(files.admin(), reserved.entry(), content);
      if (present.isEmpty() && !isShown(reserved.entry())) {
        // Who reserved it may be about to undo that.
        reserved = new Reservation(files.volumes().takeOver(reserved.entry()), false);
      }
    }
    try {
      return make(reserved, content, present);
    } catch (CephException.OutcomeUnknown e) {
      throw e; // it may have been made all the same: the retry finds out
    } catch (CephException | VolumeException e) {
      undo(reserved, e);
      throw e;
    }
  }

  private Reservation reserve(VolumeContent content) {
    CephFsParameters parameters = request.parameters();
    Map<String, String> attributes = new LinkedHashMap<>(parameters.attributes());
    attributes.putAll(content.attributes());
    attributes.putAll(FirstPin.attributes(request.pin(), content));
    Reservation reserved =
        files
            .volumes()
            .reserveOrFind(request.name(), uuid -> parameters.namePrefix() + uuid, attributes);
    EncryptionRequest.requireSame(parameters.encryption(), reserved.entry());
    return reserved;
  }

  /** DeleteVolume was interrupted, or its clone failed: its id is not used again. */
  private void endDeletion(JournalEntry entry) {
    new CephFsVolumeDeletion(files, trackers, entry).carryOut();
  }

  private static boolean isHalfDeleted(JournalEntry entry, Optional<SubvolumeInfo> present) {
    return AttachmentJournal.isBeingDeleted(entry)
        || present.filter(SubvolumeInfo::isRetained).isPresent();
  }

  /** The subvolume of an entry that was there before; empty if there is none, or not yet. */
  private Optional<SubvolumeInfo> present(JournalEntry entry) {
    if (entry.backingSnapshot().isPresent() || AttachmentJournal.isBeingDeleted(entry)) {
      return Optional.empty();
    }
    Optional<SubvolumeInfo> remembered = known.find(files, entry, request.capacity());
    if (remembered.isPresent()) {
      return remembered;
    }
    try {
      return files.admin().info(entry.name());
    } catch (CephException e) {
      if (e.errno() == Errno.EAGAIN) {
        return Optional.empty(); // being copied
      }
      throw e;
    }
  }

  private CreatedVolume make(
      Reservation reserved, VolumeContent content, Optional<SubvolumeInfo> present) {
    JournalEntry entry = reserved.entry();
    if (content instanceof VolumeContent.Shown shown) {
      return show(entry, shown);
    }
    if (content instanceof VolumeContent.Copied copied) {
      if (present.isPresent() && entry.clonedSubvolume().isEmpty() && !isTooSmall(present)) {
        return answer(entry, requireFitting(entry, present));
      }
      return advance(entry, copied.subvolume(), copied.snapshot())
          .orElseThrow(
              () ->
                  new VolumeException(
                      Reason.ABORTED,
                      "the clone for volume " + request.name() + " failed; try again"));
    }
    return answer(entry, requireFitting(entry, present.or(() -> create(reserved))));
  }

  /** Makes an empty subvolume; the path that it has got, only the manager knows. */
  private Optional<SubvolumeInfo> create(Reservation reserved) {
    JournalEntry entry = reserved.entry();
    SubvolumeAdmin admin = files.admin();
    long size = request.capacity().sizeToCreate();
    Ahead<Optional<String>> ahead = Ahead.behind(() -> admin.path(entry.name()));
    admin.create(entry.name(), size, request.parameters().pool());
    CephFsCloner.requireReserved(files, entry);
    if (!reserved.isNew()) {
      return admin.info(entry.name()); // another driver may have made it in another size
    }
    return ahead
        .answer()
        .or(() -> admin.path(entry.name()))
        .map(path -> SubvolumeInfo.complete(path, size));
  }

  /** Takes the copy one step on; empty when it failed, and is removed with the entry. */
  private Optional<CreatedVolume> advance(
      JournalEntry entry, String subvolume, Optional<String> snapshot) {
    CephFsCloner cloner = new CephFsCloner(files, entry, request.parameters().pool(), wait);
    if (cloner.advance(subvolume, snapshot)) {
      return Optional.of(answer(entry, grown(entry)));
    }
    endDeletion(entry);
    return Optional.empty();
  }

  private SubvolumeInfo requireFitting(JournalEntry entry, Optional<SubvolumeInfo> found) {
    SubvolumeInfo info = found.orElseThrow(() -> vanished(entry));
    CapacityRange capacity = request.capacity();
    if (!capacity.contains(info.quota())) {
      throw new VolumeException(
          Reason.ALREADY_EXISTS,
          "volume "
              + entry.requestName()
              + " exists with "
              + info.quota()
              + " bytes, which is not between "
              + capacity.required()
              + " and "
              + (capacity.limit() == 0 ? "unlimited" : capacity.limit()));
    }
    return info;
  }

  private static VolumeException vanished(JournalEntry entry) {
    return new VolumeException(
        Reason.ABORTED, "subvolume " + entry.name() + " was deleted meanwhile");
  }

  /** A copy has the quota that its source had when it was copied. */
  private SubvolumeInfo grown(JournalEntry entry) {
    Optional<SubvolumeInfo> info = files.admin().info(entry.name());
    if (isTooSmall(info)) {
      // A caller that knows its id may expand it, too.
      try (OperationRegistry.Hold hold =
          operations.hold(files.id(entry.uuid()).toString(), "CreateVolume")) {
        info = files.admin().info(entry.name());
        if (isTooSmall(info)) {
          info = files.admin().grow(entry.name(), request.capacity().sizeToCreate());
        }
      }
    }
    return requireFitting(entry, info);
  }

  private boolean isTooSmall(Optional<SubvolumeInfo> found) {
    return found.filter(info -> info.quota() < request.capacity().required()).isPresent();
  }

  private CreatedVolume answer(JournalEntry entry, SubvolumeInfo info) {
    String path = info.path().orElseThrow(() -> vanished(entry));
    new FirstPin(files, trackers, request.pin()).giveTo(entry);
    known.remember(files, entry, info);
    return new CreatedVolume(
        files.id(entry.uuid()),
        info.quota(),
        request.parameters().contextOf(entry, path),
        Map.of());
  }

  /**
   * The reference comes first. That the snapshot exists was looked at meanwhile; where a deletion
   * need not have seen the reference, it is looked at behind it.
   */
  private CreatedVolume show(JournalEntry entry, VolumeContent.Shown shown) {
    shown.giveSecret(files, entry);
    BackingSnapshot backing = BackingSnapshot.of(files, trackers, shown.snapshotId());
    BackingSnapshot.Addition reference =
        shown.from().isPresent()
            ? backing.referTo(entry.name(), shown.from().get(), shown.snapshot())
            : backing.referTo(entry.name());
    Ahead<Boolean> isThere = reference.wasTracked() ? shown.isThere() : shown.look(files);
    if (!isThere.answer()) {
      if (reference.isNew()) {
        backing.release(entry.name()); // else it may be the reference of a volume in use
      }
      throw VolumeException.notFound(
          "snapshot " + shown.snapshotId() + " is not in the file system any more");
    }
    return shown(entry, shown.resolved());
  }

  private CreatedVolume shown(JournalEntry entry, ResolvedSnapshot resolved) {
    return new CreatedVolume(
        files.id(entry.uuid()),
        size(resolved),
        request.parameters().contextOf(entry, resolved.root() + "/"),
        Map.of());
  }

  /** That of the snapshot, or what the CO asked for: none of it is used. */
  private long size(ResolvedSnapshot snapshot) {
    CapacityRange capacity = request.capacity();
    long size = Math.max(capacity.required(), snapshot.size());
    return capacity.limit() > 0 ? Math.min(size, capacity.limit()) : size;
  }

  private boolean isShown(JournalEntry entry) {
    return entry.backingSnapshot().isPresent()
        && BackingSnapshot.of(files, trackers, entry.backingSnapshot().get()).holds(entry.name());
  }

  /**
   * Undoes a reservation when nothing was created; a failure is only logged. A subvolume that is
   * there, even of a new reservation, stays for the retry: while this call waited for the manager,
   * another driver may have created it and returned it to a caller. Without a source nobody can
   * begin a copy any more, so what is not there then never will be.
   */
  private void undo(Reservation reserved, RuntimeException because) {
    if (because instanceof VolumeException e && EXISTS.contains(e.reason())) {
      return;
    }
    boolean gone =
        because instanceof CephException.NotFound
            || (because instanceof VolumeException e && e.reason() == Reason.NOT_FOUND);
    if (!reserved.isNew() && !gone) {
      return; // a caller may have got it
    }
    try {
      if (reserved.entry().backingSnapshot().isEmpty()) {
        if (files.admin().cloneStatus(reserved.entry().name()).isPresent()) {
          return;
        }
        removeSource(reserved.entry());
      } else if (!gone || isShown(reserved.entry())) {
        return; // the retry goes on, or a caller has got it before
      }
      files.undo(reserved.entry());
    } catch (RuntimeException e) {
      LOG.warn(NOT_REMOVED, reserved.entry().requestName(), e.toString());
    }
  }
}
