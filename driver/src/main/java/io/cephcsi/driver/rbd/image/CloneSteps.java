package io.cephcsi.driver.rbd.image;

import io.cephcsi.bindings.cls.AncestryCheck;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.InitialSnapshot;
import io.cephcsi.bindings.cls.NameRemoval;
import io.cephcsi.bindings.cls.TrashMove;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.SnapshotNamespace;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.EnumSet;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The steps of snapshots and clones; each may be repeated. */
public final class CloneSteps {
  private static final Logger LOG = LoggerFactory.getLogger(CloneSteps.class);

  /** How the image of a snapshot, and the image between a volume and its clone, is made. */
  public static final ImageOptions INTERMEDIATE =
      ImageOptions.builder()
          .features(EnumSet.of(ImageFeature.LAYERING, ImageFeature.DEEP_FLATTEN))
          .cloneFormat(2)
          .build();

  private static final long PATIENCE_MILLIS = 2000;
  private static final long POLL_MILLIS = 50;

  private CloneSteps() {}

  /** The options of a StorageClass for a clone. */
  public static ImageOptions cloneOptions(ImageOptions options) {
    ImageOptions.Builder clone = ImageOptions.builder().cloneFormat(2);
    options.features().ifPresent(clone::features);
    options.order().ifPresent(clone::order);
    options.stripeUnit().ifPresent(clone::stripeUnit);
    options.stripeCount().ifPresent(clone::stripeCount);
    options.dataPool().ifPresent(clone::dataPool);
    return clone.build();
  }

  /**
   * Takes a snapshot. One of its name was left by a process that died, if that is proven: what it
   * shows is older than this call, so it is removed.
   */
  private static void takeSnapshot(RbdImage image, String name, Runnable requireOwn) {
    try {
      image.snapshots().create(name);
    } catch (CephException.AlreadyExists e) {
      requireOwn.run();
      LOG.info("snapshot {} is left from an interrupted call: taking it again", name);
      removeSnapshot(image, name);
      image.snapshots().create(name);
    }
  }

  /**
   * Takes a snapshot for as long as some work needs it. It is removed by its id, whether the work
   * fails or not: if another attempt has the name by now, it would not be removed before the image
   * is deleted.
   *
   * @param requireOwn called when there is one of the name: throws unless attempts left it
   */
  public static void withSnapshot(RbdImage image, String name, Runnable requireOwn, Runnable work) {
    takeSnapshot(image, name, requireOwn);
    long id = image.snapshots().id(name);
    try {
      work.run();
    } catch (RuntimeException e) {
      try {
        removeSnapshot(image, id);
      } catch (CephException removal) {
        e.addSuppressed(removal);
      }
      throw e;
    }
    removeSnapshot(image, id);
  }

  /**
   * Removes a snapshot by its id. One that another attempt has removed by its name while clones
   * need it is busy in the trash namespace, and vanishes with the last of them.
   */
  public static void removeSnapshot(RbdImage image, long id) {
    try {
      image.snapshots().removeById(id);
    } catch (CephException.NotFound e) {
      LOG.debug("snapshot {} is gone already", id);
    } catch (CephException.Busy e) {
      if (isUserSnapshot(image, id)) {
        throw e;
      }
      LOG.debug("snapshot {} has been removed, its clones still need it", id);
    }
  }

  private static boolean isUserSnapshot(RbdImage image, long id) {
    return image.snapshots().list().stream()
        .anyMatch(
            snapshot -> snapshot.id() == id && snapshot.namespace() == SnapshotNamespace.USER);
  }

  /** The id of an image that was made just now. */
  public static String requireId(RbdPool pool, String name) {
    return ImageId.find(pool, name)
        .orElseThrow(
            () -> new VolumeException(Reason.ABORTED, "image " + name + " was deleted meanwhile"));
  }

  /** Takes a snapshot of a new image that no client has open. */
  public static void takeSnapshot(
      RbdPool pool, String image, String imageId, String name, InitialSnapshot prepared) {
    if (!prepared.take(imageId, name)) {
      takeSnapshotByLibrbd(pool, image, name);
    }
  }

  /** Takes a snapshot of an image that {@link InitialSnapshot} leaves to librbd. */
  public static void takeSnapshotByLibrbd(RbdPool pool, String image, String name) {
    try (RbdImage open = pool.open(image)) {
      open.snapshots().create(name);
    }
  }

  /** Removes a snapshot; one that clones need moves to the trash namespace. */
  public static void removeSnapshot(RbdImage image, String name) {
    try {
      image.snapshots().remove(name);
    } catch (CephException.NotFound e) {
      LOG.debug("snapshot {} is gone already", name);
    }
  }

  /** As {@link #removeSnapshot(RbdPool, String, String)}, of an image that was not looked at. */
  public static void removeLeftSnapshot(RbdPool pool, String imageName, String name) {
    ImageId.find(pool, imageName).ifPresent(id -> AncestryCheck.requireOpenable(pool.io(), id));
    removeSnapshot(pool, imageName, name);
  }

  /** As {@link #removeSnapshot(RbdImage, String)}, of an image that may be gone. */
  public static void removeSnapshot(RbdPool pool, String imageName, String name) {
    try (RbdImage image = pool.open(imageName)) {
      removeSnapshot(image, name);
    } catch (CephException.NotFound e) {
      LOG.debug("image {} is gone", imageName);
    }
  }

  /** The id that a name leads to: that of an image, also of an incomplete one. */
  public static Optional<String> leadsTo(RbdPool pool, String name) {
    return ImageId.find(pool, name).or(() -> ImageHeader.idInDirectory(pool.io(), name));
  }

  /**
   * Removes an image that may be incomplete: one with a header is moved to the trash, of one none
   * only the name is left. Another image that has the name by now is not touched.
   *
   * @return the id, if the image is in the trash now
   */
  public static Optional<String> discard(RbdPool pool, String name, String id) {
    awaitHeader(pool, id);
    try {
      TrashMove.move(pool, name, id);
      return Optional.of(id);
    } catch (CephException.NotFound e) {
      LOG.debug("image {} has no header", name);
      NameRemoval.forget(pool, name, id); // no header, so no data
      return Optional.empty();
    }
  }

  /** A name comes before its image: where the maker lives, it follows at once. */
  public static Optional<ImageHeader> awaitHeader(RbdPool pool, String id) {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PATIENCE_MILLIS);
    Optional<ImageHeader> header = ImageHeader.read(pool.io(), id);
    while (header.isEmpty() && System.nanoTime() < end) {
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(POLL_MILLIS));
      header = ImageHeader.read(pool.io(), id);
    }
    return header;
  }

  /** As {@link #discard(RbdPool, String, String)}, of whatever has the name. */
  public static Optional<String> discard(RbdPool pool, String name) {
    return leadsTo(pool, name).flatMap(id -> discard(pool, name, id));
  }
}
