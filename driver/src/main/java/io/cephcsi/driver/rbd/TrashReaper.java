package io.cephcsi.driver.rbd;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.FreshSnapshot;
import io.cephcsi.bindings.rbd.HeaderSnapshot;
import io.cephcsi.bindings.rbd.ImageHeader;
import io.cephcsi.bindings.rbd.ImageLink;
import io.cephcsi.bindings.rbd.Progress;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.SnapshotNamespace;
import io.cephcsi.bindings.rbd.TrashEntry;
import io.cephcsi.bindings.rbd.TrashSource;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides what in the trash can go, and has it removed.
 *
 * <p>An image that clones still need stays. When the last of its clones goes to the trash, it is
 * that clone's turn that takes its ancestors along: librbd removes a snapshot in the trash
 * namespace with the last clone of it, so the manager, which works in order, can remove the clone,
 * then its parent, and so on. One that has a CSI snapshot on it stays as well; the deletion of its
 * last snapshot comes back here. No task is made for an image that cannot go yet: the manager would
 * try it for ever.
 */
final class TrashReaper {
  private static final Logger LOG = LoggerFactory.getLogger(TrashReaper.class);
  private static final Pattern OURS =
      Pattern.compile(
          ".*?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(-temp)?",
          Pattern.DOTALL);
  // Other users of a pool have uuids in their names, too: what nobody asked us to delete in this
  // process must bear the names that only drivers of this format give.
  private static final Pattern CERTAINLY_OURS =
      Pattern.compile("csi-(vol|snap)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(-temp)?");
  private static final int MAX_GENERATIONS = 64;

  /**
   * Told of an image that stays now, and can go before long without anybody's coming back to it.
   */
  interface Later {
    void look(IoContext io, String imageId);
  }

  private final MgrTasks tasks;
  private final String instanceId;
  private final Cache<String, Boolean> requested =
      Caffeine.newBuilder().maximumSize(10_000).expireAfterWrite(Duration.ofMinutes(10)).build();

  TrashReaper(MgrTasks tasks, String instanceId) {
    this.tasks = tasks;
    this.instanceId = instanceId;
  }

  /** Removes an image in the trash, and those of its ancestors in the trash that then can go. */
  void reap(IoContext io, String imageId, Later later) {
    Optional<ImageHeader> header = ImageHeader.read(io, imageId);
    if (header.isPresent()) {
      if (isKept(io, imageId, header.get())) {
        LOG.debug("image {} stays in the trash: it has snapshots", imageId);
        return;
      }
      removeOwnSnapshots(io, imageId, header.get());
      if (!childrenAreDoomed(io, imageId, header.get(), 0)) {
        LOG.debug("image {} stays in the trash: clones need it", imageId);
        if (isTemporary(io, imageId)) {
          later.look(io, imageId);
        }
        return;
      }
    }
    if (!removeWithClones(io, imageId, header, later)) {
      return;
    }
    header
        .flatMap(ImageHeader::parent)
        .ifPresent(
            parent ->
                at(
                    io,
                    parent,
                    place -> {
                      if (isDoomed(place, parent.imageId())) {
                        reap(place, parent.imageId(), later);
                      }
                      return null;
                    }));
  }

  /** As {@link #reap}, unless somebody may still want the image who put it into the trash. */
  void reapIfDoomed(IoContext io, String imageId, Later later) {
    if (isDoomed(io, imageId)) {
      reap(io, imageId, later);
    }
  }

  /** As {@link #reapIfDoomed}; what a call still works on, or failed to forget, may go later. */
  void reapOrWait(IoContext io, String imageId, Later later) {
    Optional<TrashEntry> entry = new RbdPool(io).trashEntry(imageId);
    if (entry.isPresent()) {
      if (isDoomed(io, entry.get())) {
        reap(io, imageId, later);
      } else {
        later.look(io, imageId);
      }
    }
  }

  /**
   * Removes what in the trash a driver that died left there: only images with the usual prefixes,
   * moved there without a deferment, that no journal entry claims.
   */
  void sweep(IoContext io, Later later) {
    for (TrashEntry entry : new RbdPool(io).trash()) {
      if (CERTAINLY_OURS.matcher(entry.name()).matches() && isDoomed(io, entry)) {
        LOG.info("image {} was left in the trash of {}; removing it", entry.name(), io.pool());
        try {
          reap(io, entry.id(), later);
        } catch (CephException.TimedOut | CephException.Blocklisted e) {
          throw e;
        } catch (CephException e) { // of this image; others can go
          LOG.warn("image {} stays in the trash: {}", entry.name(), e.getMessage());
          later.look(io, entry.id());
        }
      }
    }
  }

  /**
   * Removes an image after its clones, all of which go. Whoever deleted them may not have come to
   * their removal yet, and a task before theirs would fail and be repeated much later.
   *
   * @return whether it is gone, or the manager has the task
   */
  private boolean removeWithClones(
      IoContext io, String imageId, Optional<ImageHeader> header, Later later) {
    if (requested.getIfPresent(imageId) != null) {
      return true;
    }
    for (long snapshot : header.map(ImageHeader::snapshotIds).orElse(List.of())) {
      for (ImageLink child : ImageHeader.children(io, imageId, snapshot)) {
        at(
            io,
            child,
            place -> {
              ImageHeader.read(place, child.imageId())
                  .ifPresent(
                      clone -> {
                        removeOwnSnapshots(place, child.imageId(), clone);
                        removeWithClones(place, child.imageId(), Optional.of(clone), later);
                      });
              return null;
            });
      }
    }
    return remove(io, imageId, later);
  }

  private boolean remove(IoContext io, String imageId, Later later) {
    if (tasks.removeFromTrash(io, imageId)) {
      requested.put(imageId, true);
      return true;
    }
    try {
      new RbdPool(io).removeFromTrash(imageId, true, Progress.NONE);
    } catch (CephException.NotFound e) {
      LOG.debug("image {} is out of the trash already", imageId);
    } catch (CephException e) {
      if (e.errno() != Errno.ENOTEMPTY && !(e instanceof CephException.Busy)) {
        throw e;
      }
      LOG.info("image {} stays in the trash: {}", imageId, e.getMessage());
      later.look(io, imageId);
      return false;
    }
    return true;
  }

  /**
   * Whether an image stood between a volume and its clone. One of a clone that was given up has a
   * child for as long as another driver, which is late, makes it; librbd may then take that away
   * itself.
   */
  private static boolean isTemporary(IoContext io, String imageId) {
    return new RbdPool(io)
        .trashEntry(imageId)
        .map(entry -> OURS.matcher(entry.name()))
        .filter(name -> name.matches() && name.group(2) != null)
        .isPresent();
  }

  /**
   * Snapshots on an image that was deleted: that of a CSI snapshot, or one that a driver died over.
   * One that clones need moves to the trash namespace.
   */
  private static void removeOwnSnapshots(IoContext io, String imageId, ImageHeader header) {
    if (header.snapshotIds().isEmpty()) {
      return;
    }
    List<HeaderSnapshot> own =
        snapshots(io, imageId, header).stream()
            .filter(snapshot -> snapshot.namespace() == SnapshotNamespace.USER)
            .filter(snapshot -> isOurs(snapshot.name()))
            .toList();
    if (own.isEmpty()) {
      return;
    }
    RbdPool pool = new RbdPool(io);
    try (RbdImage image = pool.openById(imageId)) {
      for (HeaderSnapshot snapshot : own) {
        CloneWorkshop.removeSnapshot(image, snapshot.name());
      }
    } catch (CephException.NotFound e) {
      // It is gone; or what it was cloned from is, as it was half made, and librbd cannot open it.
      for (HeaderSnapshot snapshot : own) {
        removeUnopened(pool, imageId, snapshot);
      }
    }
  }

  private static void removeUnopened(RbdPool pool, String imageId, HeaderSnapshot snapshot) {
    try {
      if (!FreshSnapshot.remove(pool, imageId, snapshot.id())) {
        LOG.info("image {} cannot be opened, nor its snapshots be removed", imageId);
      }
    } catch (CephException.NotFound e) {
      LOG.debug("snapshot {} was removed meanwhile", snapshot.name());
    } catch (CephException.Busy e) {
      LOG.debug("snapshot {} stays: {}", snapshot.name(), e.getMessage());
    }
  }

  /** The snapshots of an image, of which the manager may be removing one with its last clone. */
  private static List<HeaderSnapshot> snapshots(IoContext io, String imageId, ImageHeader known) {
    Optional<ImageHeader> header = Optional.of(known);
    while (header.isPresent()) {
      try {
        return ImageHeader.snapshots(io, imageId, header.get().snapshotIds());
      } catch (CephException.NotFound e) {
        header = ImageHeader.read(io, imageId);
      }
    }
    return List.of();
  }

  /**
   * Whether an image has a snapshot that must not be lost with it: a CSI snapshot that stays on its
   * volume's image, or one that somebody made by hand.
   */
  private boolean isKept(IoContext io, String imageId, ImageHeader header) {
    return snapshots(io, imageId, header).stream()
        .filter(snapshot -> snapshot.namespace() != SnapshotNamespace.TRASH)
        .anyMatch(snapshot -> !isOurs(snapshot.name()) || isNative(io, imageId, snapshot));
  }

  private boolean isNative(IoContext io, String imageId, HeaderSnapshot snapshot) {
    Matcher name = OURS.matcher(snapshot.name());
    return name.matches()
        && new Journal(JournalKind.SNAPSHOT, instanceId, io, io)
            .byUuid(UUID.fromString(name.group(1)))
            .filter(entry -> entry.nativeImage().equals(Optional.of(imageId)))
            .filter(entry -> entry.nativeSnapshot().equals(OptionalLong.of(snapshot.id())))
            .isPresent();
  }

  /** Whether a name was given by a driver of this format. */
  static boolean isOurs(String name) {
    return OURS.matcher(name).matches();
  }

  private boolean childrenAreDoomed(
      IoContext io, String imageId, ImageHeader header, int generation) {
    for (long snapshot : header.snapshotIds()) {
      for (ImageLink child : ImageHeader.children(io, imageId, snapshot)) {
        if (!at(io, child, place -> goes(place, child.imageId(), generation + 1))) {
          return false;
        }
      }
    }
    return true;
  }

  /** Whether a clone is gone, or will be. */
  private boolean goes(IoContext io, String imageId, int generation) {
    if (generation > MAX_GENERATIONS) {
      return false;
    }
    Optional<ImageHeader> header = ImageHeader.read(io, imageId);
    if (header.isEmpty()) {
      return true;
    }
    return isDoomed(io, imageId)
        && !isKept(io, imageId, header.get())
        && childrenAreDoomed(io, imageId, header.get(), generation);
  }

  private boolean isDoomed(IoContext io, String imageId) {
    return new RbdPool(io).trashEntry(imageId).filter(entry -> isDoomed(io, entry)).isPresent();
  }

  /** Whether an image in the trash was deleted through a driver, and not put there by hand. */
  private boolean isDoomed(IoContext io, TrashEntry entry) {
    Matcher name = OURS.matcher(entry.name());
    if (!name.matches()
        || entry.source() != TrashSource.USER
        || entry.deferredUntil().isAfter(Instant.now())) {
      return false;
    }
    if (name.group(2) != null) {
      return true; // only a half-made clone's temporary image, or a deleted one's, gets there
    }
    UUID uuid = UUID.fromString(name.group(1));
    return unclaimed(io, JournalKind.VOLUME, uuid, entry)
        && unclaimed(io, JournalKind.SNAPSHOT, uuid, entry);
  }

  /** Whether the journal does not know an image, or has another one in its place. */
  private boolean unclaimed(IoContext io, JournalKind kind, UUID uuid, TrashEntry entry) {
    return new Journal(kind, instanceId, io, io)
        .byUuid(uuid)
        .filter(e -> e.imageId().isEmpty() || e.imageId().equals(Optional.of(entry.id())))
        .filter(e -> e.name().equals(entry.name()))
        .map(JournalEntry::uuid)
        .isEmpty();
  }

  /** Works where a link points to. */
  private static <T> T at(IoContext io, ImageLink link, Function<IoContext, T> work) {
    if (link.poolId() == io.poolId() && link.namespace().equals(io.namespace())) {
      return work.apply(io);
    }
    try (IoContext other = io.cluster().openPool(link.poolId(), link.namespace())) {
      return work.apply(other);
    }
  }
}
