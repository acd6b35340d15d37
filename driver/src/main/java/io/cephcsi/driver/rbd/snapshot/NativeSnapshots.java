package io.cephcsi.driver.rbd.snapshot;

import io.cephcsi.bindings.cls.HeaderSnapshot;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.TrashDirectory;
import io.cephcsi.bindings.cls.TrashMark;
import io.cephcsi.bindings.cls.TrashMove;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.SnapshotNamespace;
import io.cephcsi.bindings.rbd.TrashEntry;
import io.cephcsi.driver.journal.Attempt;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.TrashRestoreState;
import io.cephcsi.driver.rbd.image.CloneSteps;
import io.cephcsi.driver.rbd.image.ImageUse;
import io.cephcsi.driver.rbd.image.PresentImage;
import io.cephcsi.driver.rbd.session.OpenVolume;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Native snapshots: they stay on the image of their volume. Compared with a snapshot that has an
 * image of its own, this saves one change of the monitors' map of two, an image, and a generation
 * in each clone:
 *
 * <pre>
 *   csi-vol-V@csi-snap-S ← csi-vol-N
 * </pre>
 *
 * <p>The image of a deleted volume stays in the trash until its last native snapshot is deleted:
 * {@link TrashRemoval} asks the journal. An image in the trash cannot be cloned, so a clone
 * restores it and moves it back. The restore is recorded before, so that after a crash the next
 * call moves the image back. See {@code docs/decisions/native-snapshots.md}.
 */
public final class NativeSnapshots {
  private static final Logger LOG = LoggerFactory.getLogger(NativeSnapshots.class);

  private NativeSnapshots() {}

  /**
   * Takes a reserved snapshot. The image is open until the snapshot is recorded, so that who
   * deletes the volume sees it in use.
   */
  static HeaderSnapshot take(OpenVolume source, Attempt attempt) {
    String name = attempt.entry().name();
    String imageId;
    long id;
    try (RbdImage image = source.pool().open(source.imageName())) {
      try {
        image.snapshots().create(name);
      } catch (CephException.AlreadyExists e) {
        discard(image, attempt);
        image.snapshots().create(name);
      }
      id = image.snapshots().id(name);
      imageId = image.id();
      attempt.completeNative(id, imageId);
    }
    return read(source.pool().io(), imageId, id)
        .orElseThrow(
            () ->
                new VolumeException(Reason.ABORTED, "snapshot " + name + " was deleted meanwhile"));
  }

  /**
   * Removes what attempts left of a snapshot that is not recorded: on the image that has the
   * volume's name, where it is taken, and on the one that the entry tells of, which may be in the
   * trash.
   *
   * @throws VolumeException ABORTED if another attempt has replaced this one
   */
  static void discard(RbdPool pool, Attempt attempt) {
    Set<String> images = new LinkedHashSet<>();
    ImageId.find(pool, image(attempt.entry())).ifPresent(images::add);
    attempt.entry().nativeImage().ifPresent(images::add);
    for (String id : images) {
      String name = attempt.entry().name();
      PresentImage.open(pool, id, "snapshot " + name)
          .ifPresent(image -> discard(image, id, attempt));
    }
  }

  private static void discard(RbdImage opened, String imageId, Attempt attempt) {
    try (RbdImage image = opened) {
      discard(image, attempt);
    } catch (CephException.NotFound e) {
      LOG.debug("snapshot {} does not exist on image {}", attempt.entry().name(), imageId);
    }
  }

  /**
   * By the id that the name leads to before it is checked that no other attempt has replaced this
   * one.
   */
  private static void discard(RbdImage image, Attempt attempt) {
    long id = image.snapshots().id(attempt.entry().name());
    attempt.requireNotReplaced();
    CloneSteps.removeSnapshot(image, id);
  }

  /**
   * A native snapshot that is there.
   *
   * @param entry with the ids that the snapshot and its image have now
   * @param snapshot as the image has it
   */
  public record Found(JournalEntry entry, HeaderSnapshot snapshot) {}

  /** The snapshot of an entry, as {@link #locate}. */
  public static Optional<HeaderSnapshot> find(IoContext io, JournalEntry entry) {
    return locate(io, entry).map(Found::snapshot);
  }

  /**
   * The snapshot of an entry, if it was taken and is there; one round trip if it is where it was
   * recorded. If that image is gone, the snapshot is looked for on the one that has its name, also
   * in the trash: {@code rbd migration} makes a new image, with snapshots of the same names.
   */
  public static Optional<Found> locate(IoContext io, JournalEntry entry) {
    if (entry.nativeImage().isEmpty() || entry.nativeSnapshot().isEmpty()) {
      return Optional.empty();
    }
    return read(io, entry.nativeImage().get(), entry.nativeSnapshot().getAsLong())
        .map(snapshot -> new Found(entry, snapshot))
        .or(() -> replaced(io, entry));
  }

  /** As {@link #locate}, and records what has replaced the recorded image. */
  public static Optional<Found> locate(Journal journal, IoContext io, JournalEntry entry) {
    Optional<Found> found = locate(io, entry);
    found
        .map(Found::entry)
        .filter(now -> !now.equals(entry))
        .ifPresent(now -> Attempt.replaceNative(journal, entry, now));
    return found;
  }

  /** The snapshot's name has the entry's uuid, so no other one has it. */
  private static Optional<Found> replaced(IoContext io, JournalEntry entry) {
    if (ImageHeader.read(io, entry.nativeImage().orElseThrow()).isPresent()) {
      return Optional.empty();
    }
    String name = image(entry);
    return ImageId.find(new RbdPool(io), name)
        .or(() -> TrashDirectory.named(io, name).map(TrashEntry::id))
        .flatMap(
            id ->
                SnapshotImage.on(io, id, entry.name())
                    .map(snapshot -> new Found(entry.withNative(id, snapshot.id()), snapshot)));
  }

  /** One that clones need is in the trash namespace after its removal, and no longer a snapshot. */
  private static Optional<HeaderSnapshot> read(IoContext io, String imageId, long id) {
    try {
      return Optional.of(ImageHeader.snapshots(io, imageId, List.of(id)).get(0))
          .filter(snapshot -> snapshot.namespace() == SnapshotNamespace.USER);
    } catch (CephException.NotFound e) {
      return Optional.empty();
    }
  }

  /**
   * Removes the snapshot of an entry; clones of it live on.
   *
   * @return the entry with the id of the image that it was on
   * @throws VolumeException ABORTED if its image is there, but cannot be opened
   */
  static JournalEntry remove(RbdPool pool, JournalEntry entry) {
    if (removeFrom(pool, entry)) {
      return entry;
    }
    JournalEntry now = replaced(pool.io(), entry).map(Found::entry).orElse(entry);
    if (now.equals(entry) || !removeFrom(pool, now)) {
      LOG.debug("the image of snapshot {} is gone", entry.name());
    }
    return now;
  }

  /** Whether the image was there. */
  private static boolean removeFrom(RbdPool pool, JournalEntry entry) {
    String id = entry.nativeImage().orElseThrow();
    Optional<RbdImage> found = PresentImage.open(pool, id, "snapshot " + entry.name());
    if (found.isEmpty()) {
      return false;
    }
    try (RbdImage image = found.get()) {
      CloneSteps.removeSnapshot(image, entry.name());
    }
    return true;
  }

  /**
   * Works on the image of a snapshot by its name, for which an image in the trash is restored. It
   * is moved back unless it is in use by then.
   *
   * @throws VolumeException FAILED_PRECONDITION if it cannot be restored
   */
  public static void outOfTrash(RbdPool pool, JournalEntry entry, Runnable work) {
    TrashRestoreState state = new TrashRestoreState(pool.io(), entry.uuid());
    boolean restored = restoreFromTrash(pool, entry, state);
    try {
      if (restored) {
        state.restored();
      }
      work.run();
    } finally {
      if (restored || entry.outOfTrash()) {
        endOutOfTrash(pool, entry, restored || entry.isRestored());
      }
    }
  }

  private static void endOutOfTrash(RbdPool pool, JournalEntry entry, boolean restored) {
    try {
      if (backToTrash(pool, entry, restored)) {
        new TrashRestoreState(pool.io(), entry.uuid()).end();
      }
    } catch (VolumeException e) {
      LOG.warn(
          "{}; it is moved back to the trash by the next call on its snapshots", e.getMessage());
    }
  }

  /** Whether it was there. */
  private static boolean restoreFromTrash(
      RbdPool pool, JournalEntry entry, TrashRestoreState state) {
    String imageId = entry.nativeImage().orElseThrow();
    Optional<TrashEntry> trashed = pool.trashEntry(imageId);
    if (trashed.isEmpty()) {
      return false;
    }
    requireNoDeferment(trashed.get());
    if (TrashMark.find(pool.io(), imageId).isEmpty()) {
      TrashMark.remove(pool.io(), List.of(imageId)); // that of another time
    }
    state.begin();
    try {
      pool.restoreFromTrash(imageId, image(entry));
    } catch (CephException.TimedOut e) {
      throw e; // the outcome is unknown
    } catch (CephException.AlreadyExists e) {
      state.end();
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "image "
              + imageId
              + " cannot be restored from the trash: another image has its name "
              + image(entry),
          e);
    } catch (CephException e) {
      state.end();
      throw e;
    }
    return true;
  }

  private static void requireNoDeferment(TrashEntry trashed) {
    if (trashed.deferredUntil().isAfter(Instant.now())) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "image "
              + trashed.name()
              + " was moved to the trash by another program, to be kept there until "
              + trashed.deferredUntil()
              + "; restore it first (rbd trash restore)");
    }
  }

  /**
   * Puts an image back that a process that died took out of the trash; as a deleted one only if it
   * was one. What people restored, or may have, stays.
   *
   * @throws VolumeException FAILED_PRECONDITION if it is in use
   */
  static void backToTrash(RbdPool pool, JournalEntry entry) {
    backToTrash(pool, entry, entry.isRestored());
  }

  /** Whether it is out no more. */
  private static boolean backToTrash(RbdPool pool, JournalEntry entry, boolean restored) {
    String name = image(entry);
    String imageId = entry.nativeImage().orElseThrow();
    if (!ImageId.find(pool, name).equals(entry.nativeImage())) {
      return true;
    }
    if (restored) {
      ImageUse.requireUnused(pool, imageId, "image " + name + " of snapshot " + entry.name());
    }
    if (!restored || !new TrashRestoreState(pool.io(), entry.uuid()).claim()) {
      LOG.warn(
          "image {} (id {}) of snapshot {} is not moved back to the trash: it has no"
              + " mark that a driver restored it; if nobody needs it, remove it with \"rbd"
              + " rm\"",
          name,
          imageId,
          entry.name());
      return false;
    }
    if (TrashMark.exists(pool.io(), imageId)) {
      TrashMove.move(pool, name, imageId);
    } else {
      pool.moveToTrash(name, imageId, Duration.ZERO);
    }
    return true;
  }

  private static String image(JournalEntry entry) {
    return entry.source().orElseThrow();
  }
}
