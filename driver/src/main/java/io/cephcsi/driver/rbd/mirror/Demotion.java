package io.cephcsi.driver.rbd.mirror;

import io.cephcsi.bindings.rbd.MirrorSite;
import io.cephcsi.bindings.rbd.MirrorStatus;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.rbd.image.ImageUse;
import io.cephcsi.driver.rbd.session.OpenVolume;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the primary a copy. Used by one thread; blocks on the cluster.
 *
 * @param volume the volume
 * @param force also where it is refused
 */
record Demotion(OpenVolume volume, boolean force) {
  private static final Logger LOG = LoggerFactory.getLogger(Demotion.class);

  /**
   * Demotes, unless it is a copy.
   *
   * @throws VolumeException FAILED_PRECONDITION as of {@link RbdReplication#demote}
   */
  void run() {
    if (!isDue()) {
      return;
    }
    try (RbdImage image = volume.open()) {
      CreationMark.set(image); // before: what is demoted cannot be written
      image.mirror().demote();
    }
    LOG.info("volume {} is demoted", volume.id());
  }

  private boolean isDue() {
    String imageId;
    MirrorStatus status;
    try (RbdImage image = volume.openReadOnly()) {
      status = image.mirror().status();
      imageId = image.id();
    }
    if (!MirroredImage.require(volume, status.info()).primary()) {
      return false;
    }
    if (!force) {
      requireUnused(imageId);
      requireFollowed("volume " + volume.id(), status);
    }
    return true;
  }

  private void requireUnused(String imageId) {
    List<String> nodes = volume.nodes();
    if (!nodes.isEmpty()) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "volume " + volume.id() + " is published to " + nodes + ": unpublish it before");
    }
    ImageUse.requireUnused(volume.pool(), imageId, "volume " + volume.id());
  }

  /**
   * Refuses what another site does not follow, as after a split brain: once this side is demoted,
   * too, the old data there could be promoted, and a resync here would throw the newer ones away.
   *
   * @param whose for the message
   */
  static void requireFollowed(String whose, MirrorStatus status) {
    status.remote().stream()
        .filter(site -> site.isUp(MirrorSite.State.ERROR))
        .findFirst()
        .ifPresent(
            site -> {
              throw new VolumeException(
                  Reason.FAILED_PRECONDITION,
                  whose
                      + ": the other site does not follow ("
                      + site.description()
                      + "): resync it first");
            });
  }
}
