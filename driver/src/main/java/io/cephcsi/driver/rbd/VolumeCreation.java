package io.cephcsi.driver.rbd;

import io.cephcsi.bindings.cls.PreparedCreation;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.journal.AttachmentJournal;
import io.cephcsi.driver.journal.Attempt;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.journal.PoolMismatchException;
import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.ContentSource;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.BiConsumer;
import java.util.function.Supplier;

/**
 * One CreateVolume: reserves the name, and clears away what stands in its way.
 *
 * @param maker makes the image
 * @param recovery ends snapshots of groups that a driver died over
 * @param lease the connection
 * @param leases connections for work that goes on after the call
 * @param requestName the name that the CO chose
 * @param parameters of the StorageClass
 * @param capacity how large
 * @param source where its content comes from
 * @param discarded told the id of an image in a pool's trash that can go
 */
record VolumeCreation(
    VolumeMaker maker,
    GroupSnapshotRecovery recovery,
    Lease lease,
    Supplier<Lease> leases,
    String requestName,
    RbdParameters parameters,
    CapacityRange capacity,
    Optional<ContentSource> source,
    BiConsumer<IoContext, String> discarded) {

  /**
   * What was made, or found.
   *
   * @param entry its journal entry
   * @param size in bytes
   */
  record Result(JournalEntry entry, long size) {}

  /**
   * Makes the volume unless it is there.
   *
   * @param io the pool of its image
   */
  Result make(IoContext io) {
    if (source.isPresent()) {
      return make(io, Optional.empty());
    }
    try (PreparedCreation empty = PreparedCreation.prepare(new RbdPool(io), parameters.options())) {
      return make(io, Optional.of(empty));
    }
  }

  private Result make(IoContext io, Optional<PreparedCreation> empty) {
    VolumeMaking making = begin(io, empty);
    OptionalLong size = maker.make(making);
    if (size.isEmpty()) {
      endDeletion(making);
      making = begin(io, empty);
      size = maker.make(making);
    }
    return new Result(
        making.entry(),
        size.orElseThrow(
            () ->
                new VolumeException(
                    Reason.ABORTED, "volume " + requestName + " is being deleted")));
  }

  private VolumeMaking begin(IoContext io, Optional<PreparedCreation> empty) {
    try {
      return attempt(io, empty);
    } catch (PoolMismatchException e) {
      giveUpElsewhere(e);
    }
    try {
      return attempt(io, empty);
    } catch (PoolMismatchException e) {
      throw new VolumeException(Reason.ALREADY_EXISTS, e.explain(), e);
    }
  }

  private VolumeMaking attempt(IoContext io, Optional<PreparedCreation> empty) {
    RbdPool pool = new RbdPool(io);
    Map<String, String> attributes = new LinkedHashMap<>();
    parameters.owner().ifPresent(owner -> attributes.put(JournalEntry.OWNER, owner));
    source.ifPresent(from -> attributes.put(JournalEntry.CONTENT_SOURCE, from.id().toString()));
    return making(
        pool,
        journal(io).begin(requestName, new ImageNames(pool, parameters.namePrefix()), attributes),
        empty);
  }

  private Journal journal(IoContext io) {
    IoContext journalPool = RbdVolumes.poolOf(lease, parameters.journalPool());
    return new Journal(JournalKind.VOLUME, recovery.instanceId(), journalPool, io);
  }

  private VolumeMaking making(RbdPool pool, Attempt attempt, Optional<PreparedCreation> empty) {
    return new VolumeMaking(
        lease,
        leases,
        pool,
        attempt,
        parameters,
        capacity,
        source,
        empty,
        imageId -> discarded.accept(pool.io(), imageId));
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
      pool = new RbdPool(lease.rbdPool(mismatch.poolId()));
      attempt = journal(pool.io()).resume(requestName);
    } catch (CephException.NotFound e) {
      throw new VolumeException(Reason.ALREADY_EXISTS, mismatch.explain(), e);
    }
    if (attempt.isEmpty()) {
      return; // a process died between the name and its entry
    }
    VolumeMaking making = making(pool, attempt.get(), Optional.empty());
    if (making.entry().isMade()) {
      throw new VolumeException(Reason.ALREADY_EXISTS, mismatch.explain(), mismatch);
    }
    if (AttachmentJournal.isBeingDeleted(making.entry())) {
      endDeletion(making); // that of an attempt which was given up before
    } else {
      maker.abandon(making);
    }
  }

  /**
   * Ends a deletion that a driver died over, or that another driver is at, so that the name gets a
   * new volume: the CO still has the old one's identifier, and deletes that.
   */
  private void endDeletion(VolumeMaking making) {
    JournalEntry entry = making.entry();
    RbdPool pool = making.pool();
    VolumeId id = new VolumeId(parameters.clusterId(), pool.io().poolId(), entry.uuid());
    List<String> images = List.of();
    try (VolumeDeletion deletion =
        VolumeDeletion.withNameLocked(recovery, new OpenVolume(id, lease, pool, entry))) {
      if (deletion.begin()) {
        images = deletion.carryOut();
      }
    } catch (VolumeException e) {
      throw new VolumeException(
          Reason.ABORTED,
          "the deletion of volume "
              + id
              + ", which had this name, has not ended: "
              + e.getMessage(),
          e);
    }
    images.forEach(making.discarded());
  }
}
