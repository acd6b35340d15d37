package io.cephcsi.driver.cephfs;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.driver.journal.AttachmentJournal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.Locale;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Copies of snapshots, which the manager makes in the background. Each call takes the copy one step
 * on, from whatever state it is in:
 *
 * <pre>
 *   none → started → pending → in progress → complete → snapshot of the source removed → ready
 *                        ↘ failed → removed, with the volume's entry
 * </pre>
 *
 * <p>The copy has the volume's name, so there are never two. One that failed is not made again with
 * that name: a driver that saw the failure, and is late, would remove the next one when it is
 * ready. A volume is copied by a snapshot on it with the name of the copy.
 */
final class CephFsCloner {
  private static final Logger LOG = LoggerFactory.getLogger(CephFsCloner.class);

  private final OpenFileSystem files;
  private final JournalEntry entry;
  private final Optional<String> pool;
  private final CopyWait wait;

  /**
   * @param files the file system
   * @param entry the volume that is made
   * @param pool of its files; empty for the file system's default
   * @param wait how long it may take
   */
  CephFsCloner(OpenFileSystem files, JournalEntry entry, Optional<String> pool, CopyWait wait) {
    this.files = files;
    this.entry = entry;
    this.pool = pool;
    this.wait = wait;
  }

  /**
   * Goes on until the copy is ready, or the time to wait for it is over.
   *
   * @param subvolume what is copied: a subvolume, or what is left of it
   * @param snapshot of it; empty to take one
   * @return false if it failed, and never will be ready
   * @throws VolumeException ABORTED with its state while it is not ready
   * @throws CephException.NotFound if there is nothing to copy
   */
  boolean advance(String subvolume, Optional<String> snapshot) {
    Optional<CloneStatus> known = files.admin().cloneStatus(entry.name());
    if (known.isEmpty()) {
      start(subvolume, snapshot);
    }
    if (known.isEmpty() || known.get().isRunning()) {
      known =
          wait.until(
                  () -> files.admin().cloneStatus(entry.name()),
                  now -> now.filter(CloneStatus::isRunning).isEmpty())
              .orElse(known);
    }
    CloneStatus status = known.orElseThrow(() -> aborted("has begun"));
    return switch (status.state()) {
      case COMPLETE -> {
        finish();
        yield true;
      }
      case PENDING -> throw aborted("waits for the manager, 0 %");
      case IN_PROGRESS -> throw aborted("is in progress" + percent(status));
      case FAILED -> {
        LOG.warn("clone {} failed and is removed: {}", entry.name(), status.failure());
        yield false;
      }
    };
  }

  private static String percent(CloneStatus status) {
    return status.percent().isPresent()
        ? String.format(Locale.ROOT, ", %.0f %%", status.percent().getAsDouble())
        : "";
  }

  private VolumeException aborted(String how) {
    return new VolumeException(
        Reason.ABORTED,
        "the clone for volume " + entry.requestName() + " " + how + "; repeat the call");
  }

  private void start(String subvolume, Optional<String> snapshot) {
    try {
      if (snapshot.isEmpty()) {
        files.admin().createSnapshot(subvolume, entry.name());
      }
      files.admin().clone(subvolume, snapshot.orElse(entry.name()), entry.name(), pool);
      requireReserved(files, entry);
    } catch (CephException.AlreadyExists e) {
      LOG.debug("another driver has started clone {}", entry.name());
    } catch (CephException e) {
      if (e.errno() == Errno.EAGAIN) { // its source is being made, or too many copies wait
        throw aborted("cannot begin yet (" + e.getMessage() + ")");
      }
      throw e;
    }
  }

  private void finish() {
    try {
      removeSource(files, entry);
    } catch (CephException e) {
      if (e.errno() == Errno.EAGAIN) {
        throw aborted("is complete, 100 %, but its snapshot cannot be removed yet");
      }
      throw e;
    }
  }

  /** Removes the snapshot that a volume was copied by. */
  static void removeSource(OpenFileSystem files, JournalEntry entry) {
    entry
        .clonedSubvolume()
        .ifPresent(subvolume -> files.admin().removeSnapshot(subvolume, entry.name()));
  }

  /**
   * Requires that the volume whose subvolume the manager has just created was not deleted: while it
   * let this call wait, another driver may have created it and returned it to a caller. One round
   * trip.
   *
   * @throws VolumeException ABORTED if it was deleted; the subvolume is removed then
   */
  static void requireReserved(OpenFileSystem files, JournalEntry entry) {
    Optional<JournalEntry> now = files.volumes().byUuid(entry.uuid());
    if (now.isPresent() && !AttachmentJournal.isBeingDeleted(now.get())) {
      return;
    }
    if (now.isPresent() || !files.volumes().isReserved(entry)) {
      try {
        remove(files, entry);
      } catch (CephException e) {
        LOG.warn(
            "subvolume {} of a volume that was deleted meanwhile could not be removed: {}",
            entry.name(),
            e.toString());
      }
    }
    throw new VolumeException(
        Reason.ABORTED, "volume " + entry.requestName() + " was deleted meanwhile; try again");
  }

  /** Removes a subvolume, whatever state it is in, with the snapshot that it was copied by. */
  static void remove(OpenFileSystem files, JournalEntry entry) {
    entry.requireOwnName();
    removeSubvolume(files.admin(), entry.name());
    removeSource(files, entry);
  }

  /** Removes a subvolume, whatever state it is in. */
  static void removeSubvolume(SubvolumeAdmin admin, String name) {
    try {
      admin.remove(name);
    } catch (CephException e) {
      if (e.errno() != Errno.EAGAIN) {
        throw e;
      }
      admin.cancelClone(name);
      admin.removeFailedClone(name);
    }
  }
}
