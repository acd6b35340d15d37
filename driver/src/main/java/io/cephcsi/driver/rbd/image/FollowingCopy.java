package io.cephcsi.driver.rbd.image;

import io.cephcsi.bindings.rbd.MirrorInfo;
import io.cephcsi.bindings.rbd.MirrorSite;
import io.cephcsi.bindings.rbd.MirrorStatus;

/** Tells the copies of mirrored images that go with their primary. */
public final class FollowingCopy {
  private FollowingCopy() {}

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
}
