package io.cephcsi.driver.rbd.mirror;

import io.cephcsi.bindings.cls.MirrorPeers;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.MirrorSite;
import io.cephcsi.bindings.rbd.MirrorSite.State;
import io.cephcsi.bindings.rbd.MirrorStatus;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.cluster.WorkerLock;
import io.cephcsi.driver.rbd.image.ImageUse;
import io.cephcsi.driver.rbd.session.OpenVolume;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.time.Duration;
import java.time.Instant;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the primary a copy. Used by one thread; blocks on the cluster.
 *
 * @param volume the volume
 * @param force also where it is refused
 * @param noticed after how long each daemon has noticed that an image was demoted
 */
record Demotion(OpenVolume volume, boolean force, Duration noticed) {
  private static final Logger LOG = LoggerFactory.getLogger(Demotion.class);

  /** States of a daemon that has found the primary, and copies from it. */
  private static final Set<State> FOLLOWS =
      EnumSet.of(State.REPLAYING, State.SYNCING, State.STOPPING_REPLAY);

  /**
   * Demotes, unless it is a copy, and no promotion of that is under way. No other driver promotes
   * it meanwhile, and one that was stopped here does not go on after a promotion. A device of the
   * kernel that has the image open goes on writing.
   *
   * @throws VolumeException as of {@link RbdReplication#demote}
   */
  void run() {
    if (!isDue() && !mayBePromoted()) {
      return;
    }
    try (WorkerLock work = Promotion.lock(volume, volume.pool().io(), "demote")) {
      work.run(
          () -> {
            if (isDue()) {
              demote(work);
            }
          });
    }
  }

  private void demote(WorkerLock work) {
    try (RbdImage image = volume.open()) {
      CreationMark.set(image); // before: what is demoted cannot be written
      work.require();
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
      requireFollowed(imageId, status);
    }
    return true;
  }

  /**
   * Whether what was a copy a moment ago may have been promoted since, by a call that was given up,
   * or whose driver was stopped. One round trip.
   *
   * @throws VolumeException ABORTED while one may still be
   */
  private boolean mayBePromoted() {
    Promotion.requireAnswers(volume);
    return Promotion.isMarked(volume);
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

  private void requireFollowed(String imageId, MirrorStatus status) {
    IoContext io = volume.pool().io();
    if (status.remote().isEmpty() && !MirrorPeers.exist(io)) {
      return;
    }
    Instant copied = MirrorSnapshots.of(io, imageId).newestCopy().orElse(Instant.MIN);
    requireFollowed("volume " + volume.id(), status.remote(), copied, noticed);
  }

  /**
   * Refuses what no other site follows, as after a split brain, or while the other daemon has not
   * run since this image was promoted: once this side is demoted, too, the old data there could be
   * promoted, and the newer ones here would be lost.
   *
   * <p>A site follows whose daemon runs and copies, or that has a primary of its own, as after its
   * forced promotion. What it said before this image was promoted tells nothing; nor does what one
   * said that is dead or cut off by now: what was written here since is not there, and who promotes
   * that site by force would lose it.
   *
   * @param whose for the message
   * @param remote what the daemons of the other sites say
   * @param copied when this image was the last time a copy, by the clock of {@code remote}
   * @param noticed after how long each daemon has noticed that an image was demoted
   */
  static void requireFollowed(
      String whose, List<MirrorSite> remote, Instant copied, Duration noticed) {
    remote.stream()
        .filter(site -> site.isUp(State.ERROR))
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
    if (remote.stream().noneMatch(site -> follows(site, copied, noticed))) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          whose
              + ": no other site whose daemon runs has followed since this one was promoted (it is "
              + remote.stream().map(MirrorSite::show).findFirst().orElse("not known")
              + "): the daemon rbd-mirror there must run and copy first");
    }
  }

  private static boolean follows(MirrorSite site, Instant copied, Duration noticed) {
    Instant said = site.lastUpdate();
    return (site.up() && FOLLOWS.contains(site.state()) && said.isAfter(copied))
        || (site.isUp(State.STOPPED) && said.minus(noticed).isAfter(copied));
  }
}
