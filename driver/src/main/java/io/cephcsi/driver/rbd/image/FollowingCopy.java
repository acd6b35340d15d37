package io.cephcsi.driver.rbd.image;

import io.cephcsi.bindings.rbd.MirrorInfo;
import io.cephcsi.bindings.rbd.MirrorSite;
import io.cephcsi.bindings.rbd.MirrorStatus;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** Tells the copies of mirrored images that go with their primary. */
public final class FollowingCopy {
  /** Three times as long as daemons need to say something again. */
  private static final Duration SILENCE = Duration.ofSeconds(90);

  private FollowingCopy() {}

  /**
   * Whether an image is such a copy, and the daemon of another site runs and has said something of
   * the image lately. A daemon whose primary is lost says as before that it follows, and will never
   * remove the copy; and one whose own cluster is lost may run on.
   */
  public static boolean hasLivingPrimary(MirrorStatus status) {
    return is(status)
        && status.remote().stream()
            .filter(MirrorSite::up)
            .map(MirrorSite::lastUpdate)
            .anyMatch(said -> said.plus(SILENCE).isAfter(saidHere(status)));
  }

  /** What the daemons said is timed by this site's cluster. */
  private static Instant saidHere(MirrorStatus status) {
    return status.local().map(MirrorSite::lastUpdate).orElse(Instant.MAX);
  }

  /**
   * Whether an image is a copy that the daemon of this site keeps as its primary: the daemon
   * removes it when the primary is deleted, or not mirrored any more.
   */
  public static boolean is(MirrorStatus status) {
    return status
            .info()
            .filter(info -> info.state() == MirrorInfo.State.ENABLED && !info.primary())
            .isPresent()
        && status.local().filter(site -> site.isUp(MirrorSite.State.REPLAYING)).isPresent();
  }

  /**
   * Whether all that other sites have of an image are copies that go with it: it is not mirrored,
   * or it is the primary and the daemon of each other site keeps a copy as it. Of an image that is
   * not mirrored only what was noted when that ended tells.
   */
  public static boolean areAllOthers(MirrorStatus status) {
    Optional<MirrorInfo> info = status.info();
    if (info.isEmpty()) {
      return true;
    }
    List<MirrorSite> others = status.remote();
    return info.get().primary()
        && !others.isEmpty()
        && others.stream().allMatch(site -> site.isUp(MirrorSite.State.REPLAYING));
  }
}
