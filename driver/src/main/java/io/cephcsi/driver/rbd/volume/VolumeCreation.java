package io.cephcsi.driver.rbd.volume;

import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.PreparedCreation;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.Progress;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.encryption.EncryptionRequest;
import io.cephcsi.driver.journal.AttachmentJournal;
import io.cephcsi.driver.journal.Attempt;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.journal.PoolMismatchException;
import io.cephcsi.driver.rbd.encryption.FileKey;
import io.cephcsi.driver.rbd.encryption.VolumeKey;
import io.cephcsi.driver.rbd.image.ImageNames;
import io.cephcsi.driver.rbd.image.RecordedImage;
import io.cephcsi.driver.rbd.parameters.RbdParameters;
import io.cephcsi.driver.rbd.session.OpenVolume;
import io.cephcsi.driver.rbd.session.RbdSession;
import io.cephcsi.driver.volume.ContentSource;
import io.cephcsi.driver.volume.CreatedVolume;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One CreateVolume, whose name the caller has locked: finds the pools, reserves the name in the
 * journal, creates the image, or finds it, and records its id. The id is recorded last: an entry
 * without it was never returned to a caller, and its image is created again. A failed call is
 * undone.
 *
 * @param session of the call
 * @param request what is asked for
 * @param groups what image groups have to do with the deletion of the name's last volume
 */
record VolumeCreation(RbdSession session, VolumeRequest request, ImageGroups groups) {
  private static final Logger LOG = LoggerFactory.getLogger(VolumeCreation.class);

  /**
   * Makes the volume unless it is there.
   *
   * @throws VolumeException ALREADY_EXISTS if the name's volume does not fit the request
   */
  CreatedVolume run() {
    request
        .parameters()
        .encryption()
        .ifPresent(wanted -> session.keys().requirePossible(wanted, request.parameters().owner()));
    RbdPool pool = new RbdPool(validate());
    session.visitTrash(pool.io());
    try {
      if (request.source().isPresent()) {
        return create(pool, Optional.empty());
      }
      ImageOptions options = request.parameters().options();
      try (PreparedCreation empty = PreparedCreation.prepare(pool, options)) {
        return create(pool, Optional.of(empty));
      }
    } catch (CephException e) {
      throw PoolProblems.explain(session.lease(), request.parameters(), e);
    }
  }

  /** Requires that the pools exist. */
  private IoContext validate() {
    RbdParameters parameters = request.parameters();
    IoContext io = session.requirePool(parameters.pool());
    parameters.options().dataPool().ifPresent(session::requirePool);
    return io;
  }

  private CreatedVolume create(RbdPool pool, Optional<PreparedCreation> empty) {
    PendingVolume pending = reserve(pool, empty);
    OptionalLong size = findOrMake(pending);
    if (size.isEmpty()) {
      endDeletion(pending);
      pending = reserve(pool, empty);
      size = findOrMake(pending);
    }
    return created(
        pending,
        size.orElseThrow(
            () ->
                new VolumeException(
                    Reason.ABORTED, "volume " + request.name() + " is being deleted")));
  }

  /** Reserves the name, or finds its reservation. */
  private PendingVolume reserve(RbdPool pool, Optional<PreparedCreation> empty) {
    try {
      return begin(pool, empty);
    } catch (PoolMismatchException e) {
      giveUpElsewhere(e);
    }
    try {
      return begin(pool, empty);
    } catch (PoolMismatchException e) {
      throw new VolumeException(Reason.ALREADY_EXISTS, e.explain(), e);
    }
  }

  private PendingVolume begin(RbdPool pool, Optional<PreparedCreation> empty) {
    RbdParameters parameters = request.parameters();
    Map<String, String> attributes = new LinkedHashMap<>();
    parameters.owner().ifPresent(owner -> attributes.put(JournalEntry.OWNER, owner));
    request.sourceId().ifPresent(from -> attributes.put(JournalEntry.CONTENT_SOURCE, from));
    parameters.encryption().ifPresent(wanted -> attributes.putAll(wanted.attributes()));
    ImageNames names = new ImageNames(pool, parameters.namePrefix());
    Attempt attempt = journal(pool).begin(request.name(), names, attributes);
    EncryptionRequest.requireSame(parameters.encryption(), attempt.entry());
    return new PendingVolume(session, request, pool, attempt, empty);
  }

  private Journal journal(RbdPool pool) {
    IoContext journalPool = session.requirePool(request.parameters().journalPool());
    return session.journal(JournalKind.VOLUME, journalPool, pool.io());
  }

  /**
   * Gives up what was begun in another pool, where topology no longer lets the volume be. What the
   * name's key says proves nothing there, as who may write to the journal's pool need have no right
   * to the other: no entry is made, and without one only the key goes.
   *
   * @throws VolumeException ALREADY_EXISTS if a volume was made there
   */
  private void giveUpElsewhere(PoolMismatchException mismatch) {
    RbdPool pool;
    Optional<Attempt> attempt;
    try {
      pool = new RbdPool(session.lease().rbdPool(mismatch.poolId()));
      attempt = journal(pool).resume(request.name());
    } catch (CephException.NotFound e) {
      throw new VolumeException(Reason.ALREADY_EXISTS, mismatch.explain(), e);
    }
    if (attempt.isEmpty()) {
      return; // a process died between the name and its entry
    }
    PendingVolume pending =
        new PendingVolume(session, request, pool, attempt.get(), Optional.empty());
    if (pending.entry().isMade()) {
      throw new VolumeException(Reason.ALREADY_EXISTS, mismatch.explain(), mismatch);
    }
    if (AttachmentJournal.isBeingDeleted(pending.entry())) {
      endDeletion(pending); // that of an attempt which was given up before
    } else {
      pending.abandon();
    }
  }

  /**
   * Makes the image unless it is there. An empty one costs the image, and one write to record its
   * id.
   *
   * @return the size of the image; empty if the entry is that of a volume whose deletion has begun,
   *     or whose image is gone: it is to be deleted, and the name to be reserved anew
   */
  private OptionalLong findOrMake(PendingVolume pending) {
    if (AttachmentJournal.isBeingDeleted(pending.entry())) {
      return OptionalLong.empty();
    }
    if (pending.entry().imageId().isPresent()) {
      return find(pending);
    }
    try {
      CreatedImage made = make(pending);
      record(pending, made);
      return OptionalLong.of(made.size());
    } catch (CephException.OutcomeUnknown e) {
      throw e; // it may have been made all the same: the retry finds out
    } catch (CephException | VolumeException e) {
      undo(pending, e);
      throw e instanceof CephException.AlreadyExists ? conflict(e) : e;
    }
  }

  private static OptionalLong find(PendingVolume pending) {
    return RecordedImage.find(pending.pool(), pending.attempt().journal(), pending.entry())
        .flatMap(
            id ->
                ImageHeader.read(pending.pool().io(), id).map(header -> found(pending, id, header)))
        .orElseGet(OptionalLong::empty);
  }

  private static OptionalLong found(PendingVolume pending, String imageId, ImageHeader header) {
    boolean isToGrow = isToGrow(pending, header.size());
    if (!isToGrow) {
      pending.requireSize(header.size());
    }
    new SourceCheck(pending).requireSame(header);
    if (pending.entry().isEncrypted()) {
      completeKey(pending, imageId);
    }
    long size = isToGrow ? grown(pending) : header.size();
    pending.request().mutable().applyTo(pending.volume().image(), imageId, () -> size);
    return OptionalLong.of(size);
  }

  /**
   * Whether another driver may have been killed over a copy: ceph-csi records its image before it
   * makes it as large as it is to be.
   */
  private static boolean isToGrow(PendingVolume pending, long size) {
    return pending.request().source().isPresent()
        && pending.entry().contentSource().isEmpty()
        && size < pending.request().capacity().required();
  }

  private static long grown(PendingVolume pending) {
    long size = pending.request().capacity().sizeToCreate();
    pending.request().parameters().requireSize(size);
    try (RbdImage image = pending.volume().open()) {
      if (image.size() < size) {
        image.resize(size, false, Progress.NONE);
      }
      return image.size();
    }
  }

  /** Another driver records the image before it has stored the passphrase, and may die between. */
  private static void completeKey(PendingVolume pending, String imageId) {
    VolumeKey key = pending.key(imageId);
    Optional<ContentSource> source = pending.request().source();
    if (source.isEmpty()) {
      key.setUp();
      return;
    }
    try {
      key.requireThere();
    } catch (VolumeException e) {
      if (e.reason() != Reason.FAILED_PRECONDITION) {
        throw e;
      }
      if (!adoptMissingKey(new Cloner(pending, source.get()), key, imageId)) {
        throw e;
      }
    }
  }

  /** A copy of files that were never staged has nothing to adopt, even when its source is gone. */
  private static boolean adoptMissingKey(Cloner cloner, VolumeKey key, String imageId) {
    try {
      return cloner.adoptMissingKey(imageId);
    } catch (VolumeException e) {
      if (key instanceof FileKey && e.reason() == Reason.NOT_FOUND) {
        return true;
      }
      throw e;
    }
  }

  private static CreatedImage make(PendingVolume pending) {
    pending.recordSource();
    return pending
        .request()
        .source()
        .map(from -> new Cloner(pending, from).make())
        .orElseGet(() -> new EmptyImage(pending).make());
  }

  private void record(PendingVolume pending, CreatedImage made) {
    try {
      if (request.source().isPresent()) {
        MutableParameters.removeAll(pending.volume().image(), made.id());
      }
      request.mutable().applyTo(pending.volume().image(), made.id(), made::size);
      session.settings().labels().write(pending.pool(), made.id(), request.parameters().labels());
      pending.attempt().completeImage(made.id());
    } catch (CephException.NotFound | VolumeException e) {
      if (made.own()) {
        pending.images().discardOwn(pending.image(), made.id());
      }
      throw e;
    }
  }

  /** Undoes a reservation when the image could not be created; a failure is only logged. */
  private void undo(PendingVolume pending, RuntimeException because) {
    try {
      if (because instanceof VolumeException e && e.reason() == Reason.ALREADY_EXISTS) {
        pending.removeTemporary(request.sourceId()); // what has the name is not this call's
      } else {
        pending.abandon();
      }
    } catch (VolumeException e) {
      if (e.reason() == Reason.ABORTED) {
        throw e;
      }
      note(e);
    } catch (RuntimeException e) {
      note(e);
    }
  }

  private void note(RuntimeException e) {
    LOG.warn(
        "the journal entry of {} could not be removed; the repeated call uses or"
            + " removes it: {}",
        request.name(),
        e.toString());
  }

  /** What was removed exists again: an outdated call still works on it. */
  private VolumeException conflict(RuntimeException e) {
    return new VolumeException(
        Reason.ABORTED,
        "volume "
            + request.name()
            + " is being made by another driver, too; try again ("
            + e.getMessage()
            + ")",
        e);
  }

  /**
   * Ends an interrupted deletion, or one that another driver carries out, so that the name gets a
   * new volume: the CO still has the old one's identifier, and deletes that.
   */
  private void endDeletion(PendingVolume pending) {
    OpenVolume volume = pending.volume();
    try (VolumeDeletion deletion = VolumeDeletion.withNameLocked(volume, groups)) {
      deletion.run();
    } catch (VolumeException e) {
      throw new VolumeException(
          Reason.ABORTED,
          "the deletion of volume "
              + volume.id()
              + ", which had this name, has not ended: "
              + e.getMessage(),
          e);
    }
  }

  private CreatedVolume created(PendingVolume pending, long size) {
    RbdParameters parameters = request.parameters();
    Map<String, String> context = new LinkedHashMap<>(parameters.context());
    context.put("imageName", pending.image());
    context.put("journalPool", parameters.journalPool());
    context.putAll(EncryptionRequest.context(parameters.encryption(), parameters.owner()));
    return new CreatedVolume(pending.volume().id(), size, context, parameters.topology());
  }
}
