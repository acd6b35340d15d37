package io.cephcsi.driver.rbd.background;

import io.cephcsi.bindings.cls.AncestryCheck;
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
import java.util.List;
import java.util.Optional;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import java.util.function.Supplier;
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

  /** Has an image flattened, soon. */
  public void flatten(Supplier<Lease> leases, IoContext io, String image) {
    inBackground(
        leases,
        io,
        pool -> {
          ImageId.find(new RbdPool(pool), image).ifPresent(id -> AncestryCheck.require(pool, id));
          flattenNow(pool, image);
        });
  }

  /** As {@link #flatten(Supplier, IoContext, String)}, of an image in the trash too. */
  public void flatten(Supplier<Lease> leases, IoContext io, String image, String imageId) {
    inBackground(
        leases,
        io,
        pool -> {
          AncestryCheck.require(pool, imageId);
          if (!tasks.flatten(pool, image)) {
            flattenHere(image, () -> new RbdPool(pool).openById(imageId));
          }
        });
  }

  /** Has those clones flattened, soon, that hold some snapshots of an image. */
  public void flattenClones(
      Supplier<Lease> leases, IoContext io, String imageId, List<Long> snapshots) {
    inBackground(leases, io, pool -> flattenClones(pool, imageId, snapshots));
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
      AncestryCheck.require(io, imageId, header.get());
      ImageHeader.name(io, imageId).ifPresent(name -> flattenNow(io, name)); // in the trash: none
    } else if (header.isPresent()) {
      LOG.warn(
          "image {} of pool {} is not flattened: it is in the list of clones of {},"
              + " but has another parent or none",
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
