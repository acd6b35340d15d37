package io.cephcsi.driver.rbd;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rbd.FreshSnapshot;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.ImageHeader;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.Progress;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.EnumSet;
import java.util.Optional;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The steps that snapshots and clones are made of; each may be repeated. */
final class CloneWorkshop {
  private static final Logger LOG = LoggerFactory.getLogger(CloneWorkshop.class);

  /** How the image of a snapshot, and the image between a volume and its clone, is made. */
  static final ImageOptions INTERMEDIATE =
      ImageOptions.builder()
          .features(EnumSet.of(ImageFeature.LAYERING, ImageFeature.DEEP_FLATTEN))
          .cloneFormat(2)
          .build();

  private CloneWorkshop() {}

  /** The options of a StorageClass for a clone. */
  static ImageOptions cloneOptions(ImageOptions options) {
    ImageOptions.Builder clone = ImageOptions.builder().cloneFormat(2);
    options.features().ifPresent(clone::features);
    options.order().ifPresent(clone::order);
    options.stripeUnit().ifPresent(clone::stripeUnit);
    options.stripeCount().ifPresent(clone::stripeCount);
    options.dataPool().ifPresent(clone::dataPool);
    return clone.build();
  }

  /** Takes a snapshot, unless a process that died took it. */
  static void takeSnapshot(RbdImage image, String name) {
    try {
      image.snapshots().create(name);
    } catch (CephException.AlreadyExists e) {
      LOG.debug("snapshot {} was taken before", name);
    }
  }

  /** The id of an image that was made just now. */
  static String requireId(RbdPool pool, String name) {
    return pool.imageId(name)
        .orElseThrow(
            () -> new VolumeException(Reason.ABORTED, "image " + name + " was deleted meanwhile"));
  }

  /** Takes a snapshot of an image that was made just now, and that nobody has open. */
  static void takeSnapshot(
      RbdPool pool, String image, String imageId, String name, FreshSnapshot prepared) {
    if (!prepared.take(imageId, name)) {
      try (RbdImage open = pool.open(image)) {
        takeSnapshot(open, name);
      }
    }
  }

  /** Removes a snapshot; one that clones need moves to the trash namespace. */
  static void removeSnapshot(RbdImage image, String name) {
    try {
      image.snapshots().remove(name);
    } catch (CephException.NotFound e) {
      LOG.debug("snapshot {} is gone already", name);
    }
  }

  /** As {@link #removeSnapshot(RbdImage, String)}, of an image that may be gone. */
  static void removeSnapshot(RbdPool pool, String imageName, String name) {
    try (RbdImage image = pool.open(imageName)) {
      removeSnapshot(image, name);
    } catch (CephException.NotFound e) {
      LOG.debug("image {} is gone", imageName);
    }
  }

  /**
   * Clones a snapshot. A clone that is there already was left by a process that died over it. How
   * complete it is cannot be seen from outside: it may lack its parent, or its parent may not know
   * of it and lose the data under it. So it is thrown away; nobody has been given it.
   *
   * @param discarded told the id of an image that was moved to the trash
   */
  static void makeClone(
      RbdPool from,
      String image,
      String snapshot,
      RbdPool to,
      String clone,
      ImageOptions options,
      Consumer<String> discarded) {
    try {
      from.cloneImage(image, snapshot, to, clone, options);
    } catch (CephException.AlreadyExists e) {
      LOG.info("image {} was left half made; making it anew", clone);
      discard(to, clone, discarded);
      from.cloneImage(image, snapshot, to, clone, options);
    }
  }

  /**
   * Throws an image away that may be half made or missing: what has a header goes to the trash, of
   * what has none only the name is left.
   */
  static void discard(RbdPool pool, String name, Consumer<String> discarded) {
    Optional<String> id = pool.imageId(name).or(() -> ImageHeader.idInDirectory(pool.io(), name));
    if (id.isPresent()) {
      try {
        pool.moveToTrash(name, id.get());
        discarded.accept(id.get());
        return;
      } catch (CephException.NotFound e) {
        LOG.debug("image {} has no header", name);
      }
    }
    try {
      pool.remove(name, Progress.NONE); // no header, so no data: this sweeps its name away
    } catch (CephException.NotFound e) {
      LOG.debug("there is no image {}", name);
    }
  }
}
