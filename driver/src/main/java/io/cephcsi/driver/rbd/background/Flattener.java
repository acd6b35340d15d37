package io.cephcsi.driver.rbd.background;

import io.cephcsi.bindings.cls.AncestryCheck;
import io.cephcsi.bindings.cls.HeaderSnapshot;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageLink;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.Progress;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.SnapshotNamespace;
import io.cephcsi.driver.cluster.ClusterWorkers;
import io.cephcsi.driver.rbd.image.EndedFlatten;
import io.cephcsi.driver.volume.VolumeException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Flattens images in the background: by a task of the manager, or here where the manager cannot.
 * Safe for several threads.
 *
 * <p>An image that {@link AncestryCheck} refuses is not flattened: the flattening would copy data
 * that belongs to others.
 */
public final class Flattener implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Flattener.class);
  private static final int QUEUE = 1000;

  private final MgrTasks tasks;
  private final ClusterWorkers workers = new ClusterWorkers("flatten", 1, QUEUE);

  public Flattener(MgrTasks tasks) {
    this.tasks = tasks;
  }

  /**
   * Has an image flattened, soon, also in the trash.
   *
   * @param image its name
   * @param imageId of an image that was completed
   */
  public void flatten(BackgroundLease leases, IoContext io, String image, String imageId) {
    inBackground(leases, io, pool -> flattenNow(pool, image, imageId));
  }

  /**
   * Has those clones flattened, soon, that hold some snapshots of an image; of those in the trash
   * the ones that have clones themselves: the others are about to go.
   */
  public void flattenClones(
      BackgroundLease leases, IoContext io, String imageId, List<Long> snapshots) {
    inBackground(leases, io, pool -> flattenClones(pool, imageId, snapshots));
  }

  private void flattenClones(IoContext io, String imageId, List<Long> snapshots) {
    ImageLink parent = new ImageLink(io.poolId(), io.namespace(), imageId);
    for (HeaderSnapshot snapshot : ImageHeader.snapshots(io, imageId, snapshots)) {
      if (snapshot.namespace() != SnapshotNamespace.TRASH) {
        continue; // it would stay without its clones, too
      }
      for (ImageLink child : ImageHeader.children(io, imageId, snapshot.id())) {
        flattenClone(io, child, parent);
      }
    }
  }

  private void flattenClone(IoContext io, ImageLink clone, ImageLink parent) {
    boolean here = clone.poolId() == io.poolId() && clone.namespace().equals(io.namespace());
    try {
      if (here) {
        flattenIfClone(io, clone.imageId(), parent);
      } else {
        IoContext other = io.cluster().openPool(clone.poolId(), clone.namespace());
        try {
          flattenIfClone(other, clone.imageId(), parent);
        } finally {
          other.closeAside(); // a call that was given up may still use it
        }
      }
    } catch (CephException.OwnerSilent e) {
      LOG.warn("the clone {} of {} is not flattened: {}", clone, parent, e.getMessage());
    } catch (CephException.OutcomeUnknown e) {
      throw e;
    } catch (CephException | VolumeException e) { // of this image; others can be flattened
      LOG.warn("the clone {} of {} is not flattened: {}", clone, parent, e.getMessage());
    }
  }

  /** The parent's list may name any image of any pool; the clone itself tells whose it is. */
  private void flattenIfClone(IoContext io, String imageId, ImageLink parent) {
    Optional<ImageHeader> header = ImageHeader.read(io, imageId);
    if (header.flatMap(ImageHeader::parent).filter(parent::equals).isPresent()) {
      Optional<String> name = ImageHeader.name(io, imageId); // in the trash: none
      if (name.isPresent()) {
        flattenNow(io, name.get(), imageId);
      } else if (hasClones(io, imageId, header.get())) {
        flattenInTrash(io, imageId);
      }
    } else if (header.isPresent()) {
      LOG.warn(
          "image {} of pool {} is not flattened: it is in the list of clones of {},"
              + " but has another parent or none",
          imageId,
          io.pool(),
          parent);
    }
  }

  private static boolean hasClones(IoContext io, String imageId, ImageHeader header) {
    return header.snapshotIds().stream()
        .anyMatch(snapshot -> !ImageHeader.children(io, imageId, snapshot).isEmpty());
  }

  /** One that stays for its clones; the manager finds images by name only. */
  private static void flattenInTrash(IoContext io, String imageId) {
    new RbdPool(io)
        .trashEntry(imageId)
        .filter(entry -> isToFlatten(io, entry.name(), imageId))
        .ifPresent(entry -> flattenHere(io, entry.name(), imageId));
  }

  /**
   * Here if another client has the lock: the manager would wait without end for one that does not
   * answer, and carry out nothing else, for any pool.
   */
  private void flattenNow(IoContext io, String name, String imageId) {
    if (isToFlatten(io, name, imageId)
        && (LiveOwner.has(io, imageId) || !tasks.flatten(io, name))) {
      flattenHere(io, name, imageId);
    }
  }

  /** One whose flattening was cut off before its last step could not be opened. */
  private static boolean isToFlatten(IoContext io, String name, String imageId) {
    EndedFlatten.of(io, imageId, "image " + name);
    Optional<ImageHeader> header = ImageHeader.read(io, imageId);
    if (header.flatMap(ImageHeader::parent).isEmpty()) {
      LOG.debug("image {} is flattened or gone", name);
      return false;
    }
    AncestryCheck.require(io, imageId, header.get());
    return true;
  }

  private static void flattenHere(IoContext io, String name, String imageId) {
    try (RbdImage image = new RbdPool(io).openById(imageId)) {
      if (image.parent().isPresent()) {
        image.flatten(Progress.NONE);
      }
    } catch (CephException.NotFound e) {
      if (ImageHeader.read(io, imageId).isPresent()) {
        LOG.warn("image {} is not flattened, as it cannot be opened: {}", name, e.getMessage());
      } else {
        LOG.debug("image {} was deleted before it was flattened", name);
      }
    }
  }

  private void inBackground(BackgroundLease leases, IoContext io, Consumer<IoContext> work) {
    String pool = io.pool(); // the connection itself may be closed by then
    try {
      workers
          .of(io)
          .execute(
              () -> {
                try {
                  leases.with(lease -> work.accept(lease.rbdPool(pool)));
                } catch (RuntimeException e) {
                  LOG.warn("an image in pool {} could not be flattened: {}", pool, e.toString());
                }
              });
    } catch (RejectedExecutionException e) {
      LOG.warn(
          "the queue of images to flatten is full; an image in pool {} is flattened"
              + " when its next clone is made",
          pool);
    }
  }

  @Override
  public void close() {
    workers.close();
  }
}
