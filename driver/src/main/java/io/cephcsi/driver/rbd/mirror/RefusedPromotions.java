package io.cephcsi.driver.rbd.mirror;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.Ticker;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.rbd.MirrorSite;
import io.cephcsi.bindings.rbd.MirrorStatus;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * How promotions fail that librbd refuses without force: FAILED_PRECONDITION only where a forced
 * one is what is left, at which the caller forces it at once. While a demotion of the other site is
 * on its way, that would lose the last writes. Safe for several threads.
 *
 * <p>A daemon notices the demotion of its site's image only when it looks for it the next time,
 * after 30 s by default. Until then it tells of a primary.
 */
final class RefusedPromotions {
  /** How many times as long a copy that is being made is waited for. */
  private static final int COPY = 10;

  private static final int KEPT = 20;
  private static final int MOST = 10_000;

  private final Duration notices;
  private final Ticker clock;
  private final Cache<String, Long> first;

  /**
   * @param notices after how long each daemon has noticed a demotion
   * @param clock in nanoseconds
   */
  RefusedPromotions(Duration notices, Ticker clock) {
    this.notices = notices;
    this.clock = clock;
    this.first =
        Caffeine.newBuilder()
            .ticker(clock)
            .expireAfterWrite(notices.multipliedBy(KEPT))
            .maximumSize(MOST)
            .build();
  }

  /** The volume was promoted, or is not to be the primary now. */
  void forget(VolumeId id) {
    first.invalidate(id.toString());
  }

  /**
   * Why a volume cannot be promoted without force.
   *
   * @param status what the daemons say
   * @param cause librbd's refusal
   * @return FAILED_PRECONDITION or ABORTED
   */
  VolumeException refuse(VolumeId id, MirrorStatus status, Throwable cause) {
    Optional<MirrorSite> local = status.local();
    List<MirrorSite> remote = status.remote();
    if (isDemoted(local, remote)) {
      forget(id);
      return wait(
          id,
          "the other site's image is demoted, and not copied completely yet (this site is "
              + local.map(MirrorSite::show).orElse("not known")
              + ")",
          cause);
    }
    long now = clock.read();
    Duration since = Duration.ofNanos(now - first.get(id.toString(), key -> now));
    boolean alive = remote.stream().anyMatch(MirrorSite::up);
    if (alive && isBehind(local) && since.compareTo(notices.multipliedBy(COPY)) < 0) {
      return wait(id, "what the other site wrote is being copied", cause);
    }
    if (alive && since.compareTo(notices) < 0) {
      return wait(
          id,
          "the other site says that it has the primary; if that was demoted, its daemon has not"
              + " noticed it yet",
          cause);
    }
    return new VolumeException(
        Reason.FAILED_PRECONDITION,
        "volume "
            + id
            + " is the primary of another site: demote it there, or force the promotion, which"
            + " loses what was written there since the last copy",
        cause);
  }

  /** What fails for another reason than librbd's refusal is ABORTED, not FAILED_PRECONDITION. */
  static RuntimeException notToBeForced(RuntimeException e) {
    boolean failed =
        e instanceof VolumeException volume
            ? volume.reason() == Reason.FAILED_PRECONDITION
            : e instanceof CephException ceph
                && (ceph.errno() == Errno.EBUSY || ceph.errno() == Errno.EBADMSG);
    return failed ? new VolumeException(Reason.ABORTED, String.valueOf(e.getMessage()), e) : e;
  }

  /** A daemon that has died after it told of the demotion is needed no more. */
  private static boolean isDemoted(Optional<MirrorSite> local, List<MirrorSite> remote) {
    boolean copies = local.filter(MirrorSite::up).isPresent();
    return remote.stream()
        .filter(site -> site.state() == MirrorSite.State.UNKNOWN)
        .anyMatch(site -> site.up() || copies);
  }

  private static boolean isBehind(Optional<MirrorSite> local) {
    return local
        .filter(site -> site.isUp(MirrorSite.State.REPLAYING))
        .filter(site -> SyncReport.of(site.description()).behind())
        .isPresent();
  }

  private static VolumeException wait(VolumeId id, String why, Throwable cause) {
    return new VolumeException(Reason.ABORTED, "volume " + id + ": " + why + "; try again", cause);
  }
}
