package io.cephcsi.driver.rbd;

import io.cephcsi.bindings.cls.Ancestry;
import io.cephcsi.bindings.cls.HeaderSnapshot;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.ImageLink;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.Progress;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.SnapshotNamespace;
import io.cephcsi.driver.cluster.ClusterWorkers;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps chains of clones short, and snapshots on an image few, by flattening: by a task of the
 * manager, or in the background by the driver where the manager cannot.
 *
 * <p>What {@link Ancestry} refuses is not flattened: that would copy what belongs to others.
 */
final class CloneBounds implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(CloneBounds.class);
  private static final int QUEUE = 1000;

  private final CloneLimits limits;
  private final MgrTasks tasks;
  private final ClusterWorkers workers = new ClusterWorkers("flatten", 1, QUEUE);

  CloneBounds(CloneLimits limits, MgrTasks tasks) {
    this.limits = limits;
    this.tasks = tasks;
  }

  /**
   * Refuses clones of an image whose chain is at the hard limit.
   *
   * @param image the name of the image that is flattened then
   * @param depth how deep the clone would be
   * @throws VolumeException ABORTED; the retry after the flattening succeeds
   */
  void requireDepth(Supplier<Lease> leases, IoContext io, String image, int depth) {
    requireDepth(depth, image, () -> flatten(leases, io, image));
  }

  /** As {@link #requireDepth(Supplier, IoContext, String, int)}, of an image in the trash too. */
  void requireDepth(Supplier<Lease> leases, IoContext io, String image, String imageId, int depth) {
    requireDepth(depth, image, () -> flatten(leases, io, image, imageId));
  }

  private void requireDepth(int depth, String image, Runnable flatten) {
    if (depth > limits.hardDepth()) {
      flatten.run();
      throw new VolumeException(
          Reason.ABORTED,
          "image "
              + image
              + " is at the end of a chain of clones as long as the limit of "
              + limits.hardDepth()
              + " allows; it is being flattened: try again later");
    }
  }

  /** Whether a clone this deep needs an ancestor flattened in the background. */
  boolean isDeep(int depth) {
    return depth > limits.softDepth();
  }

  /**
   * Refuses more snapshots on an image that has as many as it may have; one that has rather many
   * loses its oldest in the background, by the flattening of the clones that hold them.
   *
   * @throws VolumeException ABORTED; the retry after the flattening succeeds. RESOURCE_EXHAUSTED
   *     when all are snapshots that stay on the image
   */
  void requireRoomForSnapshot(
      Supplier<Lease> leases, IoContext io, String image, String imageId, ImageHeader header) {
    int count = header.snapshotIds().size();
    if (count < limits.minSnapshots()) {
      return;
    }
    // The header has the newest first.
    List<Long> oldest = header.snapshotIds().subList(limits.minSnapshots() - 1, count);
    inBackground(leases, io, place -> flattenClones(place, imageId, oldest));
    if (count >= limits.maxSnapshots()) {
      long own =
          ImageHeader.snapshots(io, imageId, header.snapshotIds()).stream()
              .filter(snapshot -> snapshot.namespace() == SnapshotNamespace.USER)
              .count();
      if (own >= limits.maxSnapshots()) {
        throw new VolumeException(
            Reason.RESOURCE_EXHAUSTED,
            "image "
                + image
                + " has "
                + own
                + " snapshots that stay on it, and at most "
                + limits.maxSnapshots()
                + " are allowed: delete some");
      }
      throw new VolumeException(
          Reason.ABORTED,
          "image "
              + image
              + " has "
              + count
              + " snapshots, and at most "
              + limits.maxSnapshots()
              + " are allowed; clones of the oldest are being flattened: try again later");
    }
  }

  private void flattenClones(IoContext io, String imageId, List<Long> snapshots) {
    ImageLink parent = new ImageLink(io.poolId(), io.namespace(), imageId);
    for (HeaderSnapshot snapshot : ImageHeader.snapshots(io, imageId, snapshots)) {
      if (snapshot.namespace() != SnapshotNamespace.TRASH) {
        continue; // it would stay without its clones, too
      }
      for (ImageLink child : ImageHeader.children(io, imageId, snapshot.id())) {
        boolean here = child.poolId() == io.poolId() && child.namespace().equals(io.namespace());
        if (here) {
          flattenClone(io, child.imageId(), parent);
        } else {
          try (IoContext other = io.cluster().openPool(child.poolId(), child.namespace())) {
            flattenClone(other, child.imageId(), parent);
          }
        }
      }
    }
  }

  private void flattenClone(IoContext io, String imageId, ImageLink parent) {
    try {
      flattenIfClone(io, imageId, parent);
    } catch (CephException e) {
      if (e.errno() != Errno.EBADMSG) {
        throw e;
      }
      LOG.warn("image {} of pool {} is not flattened: {}", imageId, io.pool(), e.getMessage());
    }
  }

  /** The parent's list may name any image of any pool; the clone itself tells whose it is. */
  private void flattenIfClone(IoContext io, String imageId, ImageLink parent) {
    Optional<ImageHeader> header = ImageHeader.read(io, imageId);
    if (header.flatMap(ImageHeader::parent).filter(parent::equals).isPresent()) {
      Ancestry.require(io, imageId, header.get());
      ImageHeader.name(io, imageId).ifPresent(name -> flattenNow(io, name)); // in the trash: none
    } else if (header.isPresent()) {
      LOG.warn(
          "image {} of pool {} is not flattened: it is listed as a clone of {}, and is none",
          imageId,
          io.pool(),
          parent);
    }
  }

  private void flattenNow(IoContext io, String name) {
    if (!tasks.flatten(io, name)) {
      flattenHere(io, name);
    }
  }

  /** Has an image flattened, soon. */
  void flatten(Supplier<Lease> leases, IoContext io, String image) {
    inBackground(
        leases,
        io,
        place -> {
          ImageId.find(new RbdPool(place), image).ifPresent(id -> Ancestry.require(place, id));
          flattenNow(place, image);
        });
  }

  /** As {@link #flatten(Supplier, IoContext, String)}, of an image in the trash too. */
  void flatten(Supplier<Lease> leases, IoContext io, String image, String imageId) {
    inBackground(
        leases,
        io,
        place -> {
          Ancestry.require(place, imageId);
          if (!tasks.flatten(place, image)) {
            flattenHere(image, () -> new RbdPool(place).openById(imageId));
          }
        });
  }

  private static void flattenHere(IoContext io, String name) {
    flattenHere(name, () -> new RbdPool(io).open(name));
  }

  private static void flattenHere(String name, Supplier<RbdImage> open) {
    try (RbdImage image = open.get()) {
      if (image.parent().isPresent()) {
        image.flatten(Progress.NONE);
      }
    } catch (CephException.NotFound e) {
      LOG.debug("image {} was deleted before it was flattened", name);
    }
  }

  private void inBackground(Supplier<Lease> leases, IoContext io, Consumer<IoContext> work) {
    String pool = io.pool(); // the connection itself may be closed by then
    try {
      workers
          .of(io)
          .execute(
              () -> {
                try (Lease lease = leases.get()) {
                  work.accept(lease.rbdPool(pool));
                } catch (RuntimeException e) {
                  LOG.warn("flattening in pool {} failed: {}", pool, e.toString());
                }
              });
    } catch (RejectedExecutionException e) {
      LOG.warn("too much to flatten in pool {}; the next clone tries again", pool);
    }
  }

  @Override
  public void close() {
    workers.close();
  }
}
