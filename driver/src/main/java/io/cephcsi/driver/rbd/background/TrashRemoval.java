package io.cephcsi.driver.rbd.background;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.cephcsi.bindings.cls.AncestryCheck;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageLink;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.Progress;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.TrashEntry;
import io.cephcsi.driver.volume.VolumeException;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides which images in the trash can be removed, and has them removed: only {@link
 * DeletedImages}, and those only with {@link DriverSnapshots}.
 *
 * <p>An image with clones stays. When its last clone is removed, the removal of that clone
 * continues with its ancestors: librbd removes a snapshot in the trash namespace together with its
 * last clone, so the manager, which works in order, can remove the clone, then its parent, and so
 * on. An image with a CSI snapshot stays as well, until the last of these is deleted. The manager
 * gets no task for an image that cannot be removed yet, as it would repeat the task for ever.
 */
public final class TrashRemoval {
  private static final Logger LOG = LoggerFactory.getLogger(TrashRemoval.class);
  private static final int MAX_GENERATIONS = 64;
  private static final int MAX_CLONES = 1000; // that are looked at for one image
  private static final int MARKS = 64; // after so many images old marks are looked for

  /**
   * Told of an image that stays now, and can go before long without anybody's coming back to it.
   */
  interface Later {
    void look(IoContext io, String imageId);
  }

  private final MgrTasks tasks;
  private final DeletedImages deleted;
  private final DriverSnapshots ownSnapshots;
  private final FullPools fullPools = new FullPools();
  private final AtomicInteger removals = new AtomicInteger();
  private final Cache<String, Boolean> requested =
      Caffeine.newBuilder().maximumSize(10_000).expireAfterWrite(Duration.ofMinutes(10)).build();

  public TrashRemoval(MgrTasks tasks, String instanceId) {
    this.tasks = tasks;
    this.deleted = new DeletedImages(instanceId);
    this.ownSnapshots = new DriverSnapshots(instanceId);
  }

  /**
   * Removes a deleted image, and those of its ancestors that then can go. One that a driver did not
   * put into the trash stays there.
   */
  void removeIfPossible(IoContext io, String imageId, Later later) {
    Optional<TrashEntry> entry = DeletedImages.find(io, imageId);
    if (entry.isPresent()) {
      if (removals.incrementAndGet() % MARKS == 0) {
        DeletedImages.removeOldMarks(io);
      }
      removeIfPossible(io, entry.get(), 0, later);
    } else if (new RbdPool(io).trashEntry(imageId).isPresent()) {
      LOG.warn(
          "image {} stays in the trash of {}: it has no mark that a driver moved it"
              + " there, or its removal is deferred; if nobody needs it, remove it with"
              + " \"rbd trash rm\"",
          imageId,
          io.pool());
    }
  }

  private void removeIfPossible(IoContext io, TrashEntry entry, int generation, Later later) {
    String imageId = entry.id();
    Set<ImageLink> clones = new HashSet<>();
    Optional<ImageHeader> header = ImageHeader.read(io, imageId);
    if (header.isPresent()) {
      if (!isRemovable(io, entry, header.get())) {
        return;
      }
      DriverSnapshots.Found snapshots = ownSnapshots.of(io, entry, header.get());
      if (snapshots.mustKeepImage()) {
        logWhyKept(entry, snapshots);
        return;
      }
      if (!removeSnapshots(io, imageId, snapshots, later)) {
        return;
      }
      if (!childrenGo(io, imageId, header.get(), 0, clones)) {
        LOG.debug("image {} stays in the trash: clones need it", imageId);
        if (isTemporary(entry)) {
          later.look(io, imageId);
        }
        return;
      }
    }
    if (!removeWithClones(io, imageId, header, clones, later) || generation == MAX_GENERATIONS) {
      return;
    }
    header
        .flatMap(ImageHeader::parent)
        .ifPresent(
            parent ->
                at(
                    io,
                    parent,
                    pool -> {
                      removeIfDeleted(pool, parent.imageId(), generation + 1, later);
                      return null;
                    }));
  }

  /**
   * Removes the driver's own snapshots, but not while another client has the image locked: librbd
   * would have that client do it, and wait for it.
   *
   * @return whether they are gone
   */
  private static boolean removeSnapshots(
      IoContext io, String imageId, DriverSnapshots.Found snapshots, Later later) {
    try {
      if (snapshots.own().isEmpty() || !isLocked(io, imageId)) {
        DriverSnapshots.remove(io, imageId, snapshots.own());
        return true;
      }
    } catch (CephException.OwnerSilent e) {
      LOG.warn("image {} stays in the trash of {}: {}", imageId, io.pool(), e.getMessage());
    }
    later.look(io, imageId);
    return false;
  }

  private static boolean isLocked(IoContext io, String imageId) {
    boolean isLocked = LiveOwner.has(io, imageId);
    if (isLocked) {
      LOG.warn("image {} stays in the trash of {}: a client has it locked", imageId, io.pool());
    }
    return isLocked;
  }

  /**
   * Whether librbd, which goes by the header, would remove the image's own data, and only those.
   */
  private static boolean isRemovable(IoContext io, TrashEntry entry, ImageHeader header) {
    try {
      AncestryCheck.requireOpenable(io, entry.id(), header);
      return true;
    } catch (CephException e) {
      if (!e.isOfDamage()) {
        throw e;
      }
      LOG.warn("image {} stays in the trash of {}: {}", entry.name(), io.pool(), e.getMessage());
      return false;
    }
  }

  private static void logWhyKept(TrashEntry entry, DriverSnapshots.Found snapshots) {
    if (snapshots.foreign().isEmpty()) {
      LOG.debug("image {} stays in the trash: it has CSI snapshots", entry.id());
    } else {
      LOG.warn(
          "image {} (id {}) stays in the trash: it has snapshots that no CSI driver took: {}",
          entry.name(),
          entry.id(),
          String.join(", ", snapshots.foreign()));
    }
  }

  /** As {@link #removeIfPossible}, of an image that perhaps is no deleted one, and then stays. */
  void removeIfDeleted(IoContext io, String imageId, Later later) {
    removeIfDeleted(io, imageId, 0, later);
  }

  private void removeIfDeleted(IoContext io, String imageId, int generation, Later later) {
    deleted
        .findUnreferenced(io, imageId)
        .ifPresent(entry -> removeIfPossible(io, entry, generation, later));
  }

  /**
   * Removes a deleted image that the journal has forgotten, and those of its ancestors that then
   * can go, or has the manager do it; one that must stay is left alone. Blocks.
   */
  public void removeForgotten(IoContext io, String imageId) {
    removeIfDeleted(io, imageId, 0, (pool, id) -> LOG.info("image {} stays in the trash", id));
  }

  /** As {@link #removeIfDeleted}; what a call still works on, or failed to forget, may go later. */
  void removeOrRetry(IoContext io, String imageId, Later later) {
    Optional<TrashEntry> forgotten = deleted.findUnreferenced(io, imageId);
    if (forgotten.isPresent()) {
      removeIfPossible(io, forgotten.get(), 0, later);
    } else if (DeletedImages.find(io, imageId).isPresent()) {
      later.look(io, imageId);
    }
  }

  /** Removes what a driver that died left in the trash, and no journal entry claims. */
  void sweep(IoContext io, Later later) {
    DeletedImages.removeOldMarks(io);
    for (TrashEntry entry : deleted.allUnreferenced(io)) {
      LOG.info("image {} is still in the trash of {}: removing it", entry.name(), io.pool());
      try {
        removeIfPossible(io, entry, 0, later);
      } catch (CephException.OutcomeUnknown e) {
        throw e;
      } catch (CephException | VolumeException e) { // of this image; others can go
        LOG.warn("image {} stays in the trash: {}", entry.name(), e.getMessage());
        later.look(io, entry.id());
      }
    }
  }

  /**
   * Removes an image after its clones, all of which are removed. The call that deleted them may not
   * have come to their removal yet, and a task before theirs would fail and be repeated much later.
   *
   * @param clones those that were looked at, of all generations; loses those that are removed
   * @return whether it is gone, or the manager has the task
   */
  private boolean removeWithClones(
      IoContext io,
      String imageId,
      Optional<ImageHeader> header,
      Set<ImageLink> clones,
      Later later) {
    if (requested.getIfPresent(key(io, imageId)) != null) {
      return true;
    }
    for (long snapshot : header.map(ImageHeader::snapshotIds).orElse(List.of())) {
      for (ImageLink child : ImageHeader.children(io, imageId, snapshot)) {
        if (clones.remove(child)
            && !at(io, child, pool -> removeClone(pool, child.imageId(), clones, later))) {
          later.look(io, imageId);
          return false;
        }
      }
    }
    long data = header.map(found -> found.data().poolId()).orElse(io.poolId());
    return remove(io, imageId, data, later);
  }

  /** False if its snapshots stay, as another client has it locked. */
  private boolean removeClone(IoContext io, String imageId, Set<ImageLink> clones, Later later) {
    Optional<TrashEntry> clone = DeletedImages.find(io, imageId);
    Optional<ImageHeader> header = clone.flatMap(entry -> ImageHeader.read(io, imageId));
    if (header.isEmpty()) {
      return true;
    }
    DriverSnapshots.Found snapshots = ownSnapshots.of(io, clone.get(), header.get());
    if (!snapshots.mustKeepImage() && isRemovable(io, clone.get(), header.get())) {
      if (!removeSnapshots(io, imageId, snapshots, later)) {
        return false;
      }
      removeWithClones(io, imageId, header, clones, later);
    }
    return true;
  }

  /** Ids are unique in a namespace only. */
  private static String key(IoContext io, String imageId) {
    return String.join(
        "/", io.cluster().fsid(), Long.toString(io.poolId()), io.namespace(), imageId);
  }

  private boolean remove(IoContext io, String imageId, long dataPool, Later later) {
    if (!fullPools.containEither(io.cluster(), io.poolId(), dataPool)
        && tasks.removeFromTrash(io, imageId)) {
      requested.put(key(io, imageId), true);
      return true;
    }
    if (isLocked(io, imageId)) {
      later.look(io, imageId);
      return false;
    }
    try {
      new RbdPool(io).removeFromTrash(imageId, true, Progress.NONE);
    } catch (CephException.NotFound e) {
      LOG.debug("image {} is not in the trash any more", imageId);
    } catch (CephException e) {
      if (e.errno() != Errno.ENOTEMPTY
          && !(e instanceof CephException.Busy)
          && !(e instanceof CephException.OwnerSilent)) {
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
  private static boolean isTemporary(TrashEntry entry) {
    return DeletedImages.parse(entry.name()).filter(name -> name.group(2) != null).isPresent();
  }

  /**
   * Whether all clones of an image are gone, or will be. Each has one parent: lists that name one
   * twice, or themselves, are not true.
   *
   * @param clones gets those that were looked at, of all generations
   */
  private boolean childrenGo(
      IoContext io, String imageId, ImageHeader header, int generation, Set<ImageLink> clones) {
    for (long snapshot : header.snapshotIds()) {
      for (ImageLink child : ImageHeader.children(io, imageId, snapshot)) {
        if (clones.size() == MAX_CLONES || !clones.add(child)) {
          LOG.warn(
              "image {} stays in the trash: it has too many clones, or {} is listed as a"
                  + " clone twice",
              imageId,
              child);
          return false;
        }
        if (!at(io, child, pool -> isAlsoRemoved(pool, child.imageId(), generation + 1, clones))) {
          return false;
        }
      }
    }
    return true;
  }

  /** Whether a clone is gone, or will be. */
  private boolean isAlsoRemoved(
      IoContext io, String imageId, int generation, Set<ImageLink> clones) {
    if (generation > MAX_GENERATIONS) {
      return false;
    }
    Optional<ImageHeader> header = ImageHeader.read(io, imageId);
    if (header.isEmpty()) {
      return true;
    }
    Optional<TrashEntry> entry = deleted.findUnreferenced(io, imageId);
    return entry.isPresent()
        && isRemovable(io, entry.get(), header.get())
        && !ownSnapshots.of(io, entry.get(), header.get()).mustKeepImage()
        && childrenGo(io, imageId, header.get(), generation, clones);
  }

  /** Works where a link points to. */
  private static <T> T at(IoContext io, ImageLink link, Function<IoContext, T> work) {
    if (link.poolId() == io.poolId() && link.namespace().equals(io.namespace())) {
      return work.apply(io);
    }
    IoContext other = io.cluster().openPool(link.poolId(), link.namespace()).tryWhenFull();
    try {
      return work.apply(other);
    } finally {
      other.closeAside(); // a call that was given up may still use it
    }
  }
}
