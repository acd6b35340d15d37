package io.cephcsi.driver.rbd.session;

import io.cephcsi.bindings.cls.AncestryCheck;
import io.cephcsi.bindings.cls.HeaderMetadata;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.ImageSummary;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.rbd.image.RecordedImage;
import io.cephcsi.driver.volume.VolumeException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;

/**
 * The image of a volume, which may be static, with the connection to work on it.
 *
 * @param volumeId the volume's identifier
 * @param lease the connection, which the caller closes
 * @param pool the image's pool
 * @param name the image's name
 * @param recordedId its id by the journal: if the name is lost, it gets it back; empty for one that
 *     is not recorded, or is being deleted
 */
public record OpenImage(
    String volumeId, Lease lease, RbdPool pool, String name, Optional<String> recordedId) {
  /**
   * Opens the image for reading; this does not make it look in use. Two round trips more than
   * librbd needs, and one for each ancestor.
   *
   * @throws VolumeException NOT_FOUND if there is no image; FAILED_PRECONDITION if one that it is a
   *     clone of is gone
   * @throws CephException EBADMSG as of {@link AncestryCheck#requireOpenable(IoContext, String)}
   */
  public RbdImage openReadOnly() {
    return open(pool::openReadOnly);
  }

  /**
   * Opens the image for writing, as {@link #openReadOnly}.
   *
   * @throws VolumeException NOT_FOUND if there is no image; FAILED_PRECONDITION if one that it is a
   *     clone of is gone
   * @throws CephException EBADMSG as of {@link AncestryCheck#requireOpenable(IoContext, String)}
   */
  public RbdImage open() {
    return open(pool::open);
  }

  private RbdImage open(Function<String, RbdImage> opening) {
    AncestryCheck.requireOpenable(pool.io(), imageId());
    try {
      return opening.apply(name);
    } catch (CephException.NotFound e) {
      imageId(); // it is not the image that is gone
      throw new VolumeException(
          VolumeException.Reason.FAILED_PRECONDITION,
          "volume "
              + volumeId
              + ": its image "
              + path()
              + " is there, but cannot be opened: one that it is a clone of is gone; \"ceph-csi"
              + " fsck\" names it",
          e);
    }
  }

  /**
   * Looks whether there is an image; one round trip.
   *
   * @throws VolumeException NOT_FOUND if there is none
   */
  public void require() {
    imageId();
  }

  /**
   * The image's id; one round trip.
   *
   * @throws VolumeException NOT_FOUND if there is no image
   */
  public String imageId() {
    return find().orElseThrow(() -> VolumeException.notFound(missing()));
  }

  /**
   * The image's features; two round trips.
   *
   * @throws VolumeException NOT_FOUND if there is no image
   */
  public Set<ImageFeature> features() {
    return ImageSummary.read(pool.io(), imageId())
        .map(ImageSummary::features)
        .orElseThrow(() -> VolumeException.notFound(missing()));
  }

  /** As {@link #imageId}; empty if there is no image. */
  public Optional<String> find() {
    return ImageId.find(pool, name)
        .or(() -> recordedId.filter(id -> RecordedImage.restoreName(pool, name, id)));
  }

  /**
   * Requires that the image shows nothing of others; a round trip, and those of {@link
   * AncestryCheck#require(IoContext, String)}.
   *
   * @throws VolumeException NOT_FOUND if there is no image
   * @throws CephException EBADMSG if it may show what belongs to others
   */
  public void requireAncestry() {
    AncestryCheck.require(pool.io(), imageId());
  }

  /**
   * Sets and removes metadata of the image past its exclusive lock: who has the image attached
   * would have to give that away, and need not. What is journaled goes by librbd, so that it gets
   * to the mirrors. Two round trips, if it is not.
   *
   * @param imageId the image's id
   * @param removed keys that the image has
   * @throws VolumeException NOT_FOUND if there is no image
   */
  public void changeMetadata(String imageId, Map<String, String> set, List<String> removed) {
    try {
      if (!HeaderMetadata.isJournaled(pool.io(), imageId)) {
        HeaderMetadata.change(pool.io(), imageId, set, removed);
        return;
      }
      try (RbdImage image = open()) {
        set.forEach(image.metadata()::set);
        removed.forEach(image.metadata()::remove);
      }
    } catch (CephException.NotFound e) {
      throw missing(e);
    }
  }

  private VolumeException missing(CephException e) {
    return new VolumeException(VolumeException.Reason.NOT_FOUND, missing(), e);
  }

  private String missing() {
    return "volume " + volumeId + ": its image " + path() + " is gone";
  }

  private String path() {
    return pool.io().pool() + "/" + name;
  }
}
