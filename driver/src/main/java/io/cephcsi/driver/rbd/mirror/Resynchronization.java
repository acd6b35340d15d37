package io.cephcsi.driver.rbd.mirror;

import io.cephcsi.bindings.rbd.MirrorMode;
import io.cephcsi.bindings.rbd.MirrorSite;
import io.cephcsi.bindings.rbd.MirrorSite.State;
import io.cephcsi.bindings.rbd.MirrorStatus;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.journal.Attempt;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.rbd.session.OpenVolume;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Brings a copy back to what the other site has. It is thrown away and copied anew only if all of
 * this is so: the caller forces it; the daemon of this site runs and says that both sites were
 * written (split brain); the daemon of another site runs and says that the primary is there; the
 * image is still the one that was demoted. What is not known for certain loses nothing.
 */
final class Resynchronization {
  private static final Logger LOG = LoggerFactory.getLogger(Resynchronization.class);

  private final OpenVolume volume;
  private final boolean force;

  /**
   * @param force whether the copy may be thrown away
   */
  Resynchronization(OpenVolume volume, boolean force) {
    this.volume = volume;
    this.force = force;
  }

  /**
   * One look, and what follows from it.
   *
   * @return whether all sites are demoted and have the same
   * @throws VolumeException ABORTED while the image is made anew or copied for the first time, or
   *     something is still to be copied of the demotion of another site; FAILED_PRECONDITION if it
   *     is not mirrored, the primary, or differs from the other site's and that is not forced;
   *     UNAVAILABLE if a daemon that is needed does not run, or an error keeps it from copying, or
   *     when the copy has just been given up to be made anew
   */
  boolean run() {
    RbdImage opened = open();
    try (opened) {
      MirrorStatus status = opened.mirror().status();
      if (MirroredImage.require(volume, status.info()).primary()) {
        throw failed("is the primary: demote it before");
      }
      MirrorSite local =
          status
              .local()
              .filter(MirrorSite::up)
              .orElseThrow(
                  () ->
                      unavailable(
                          "the daemon rbd-mirror of this site does not run, or has not told of it yet"));
      if (local.state() == State.UNKNOWN && allDemoted(status.remote())) {
        requireLastWrites(opened);
        recordImage(opened.id());
        return true;
      }
      if (local.state() == State.UNKNOWN && status.remote().stream().noneMatch(MirrorSite::up)) {
        throw unavailable("the daemon rbd-mirror of no other site runs");
      }
      requireFollowing(opened, local, status.remote());
      requireCopied(opened, local);
      recordImage(opened.id());
      return false;
    }
  }

  private RbdImage open() {
    try {
      return volume.openReadOnly();
    } catch (VolumeException e) {
      if (e.reason() != Reason.NOT_FOUND) {
        throw e;
      }
      throw new VolumeException(
          Reason.ABORTED, "the image of volume " + volume.id() + " is being made anew", e);
    }
  }

  private static boolean allDemoted(List<MirrorSite> remote) {
    return !remote.isEmpty() && remote.stream().allMatch(site -> site.isUp(State.UNKNOWN));
  }

  /**
   * Where both sites are demoted the daemon here says the same whether it has copied that or not,
   * as when it was started again before it had. A journal has no snapshots to look at.
   */
  private void requireLastWrites(RbdImage image) {
    if (image.mirror().mode() == MirrorMode.SNAPSHOT
        && !MirrorSnapshots.of(volume.pool().io(), image.id()).endsInDemotion()) {
      throw new VolumeException(
          Reason.ABORTED,
          "volume "
              + volume.id()
              + ": all sites are demoted, and what another one wrote last is not here completely. If"
              + " the daemon here does not copy it, promote that site again");
    }
  }

  /** The image may have been made anew: deletion looks for the one in the journal. */
  private void recordImage(String imageId) {
    if (volume.entry().imageId().filter(id -> !id.equals(imageId)).isPresent()) {
      Attempt.replaceImageId(
          volume.session().journal(JournalKind.VOLUME, volume.pool().io()),
          volume.entry(),
          imageId);
    }
  }

  private void requireFollowing(RbdImage image, MirrorSite local, List<MirrorSite> remote) {
    if (local.state() != State.ERROR) {
      return;
    }
    if (!SyncReport.isSplitBrain(local.description())) {
      throw unavailable("the daemon of this site cannot copy it: " + local.description());
    }
    if (CreationMark.isNew(image, volume.entry())) {
      throw unavailable("it was made anew and the daemon still says " + local.description());
    }
    if (!force) {
      throw failed(
          "was written on both sites (split brain): a forced resync throws away what was written"
              + " here");
    }
    if (remote.stream().noneMatch(site -> site.isUp(State.STOPPED))) {
      throw unavailable("no other site is known to have the primary: nothing is thrown away");
    }
    try (RbdImage writable = volume.open()) {
      writable.mirror().resync();
    }
    LOG.warn("volume {}: what was written here is thrown away, it is copied anew", volume.id());
    throw unavailable("it is copied anew, after a split brain; repeat the call");
  }

  private void requireCopied(RbdImage image, MirrorSite local) {
    SyncReport report = SyncReport.of(local.description());
    boolean copied =
        report.snapshot().isPresent()
            || report.idle()
            || (local.state() == State.REPLAYING && image.mirror().mode() == MirrorMode.JOURNAL);
    if (!copied) {
      throw new VolumeException(
          Reason.ABORTED,
          "volume "
              + volume.id()
              + " is being copied ("
              + local.show()
              + " "
              + local.description()
              + ")");
    }
  }

  private VolumeException failed(String what) {
    return new VolumeException(Reason.FAILED_PRECONDITION, "volume " + volume.id() + " " + what);
  }

  private VolumeException unavailable(String what) {
    return new VolumeException(Reason.UNAVAILABLE, "volume " + volume.id() + ": " + what);
  }
}
