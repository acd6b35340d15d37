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
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * How promotions fail that librbd refuses without force: FAILED_PRECONDITION only where a forced
 * one is what is left, at which the caller forces it at once. While a demotion of the other site is
 * on its way, that would lose the last writes. Safe for several threads.
 *
 * <p>A daemon notices the demotion of its site's image only when it looks for it the next time,
 * after 30 s by default. Until then it tells of a primary. A copy is made by the daemon of this
 * site alone: the other one may be dead meanwhile. One that does not run may be started in a
 * moment.
 */
final class RefusedPromotions {
  /** How many times as long a copy that is being made is waited for. */
  private static final int COPY = 10;

  /** What of a cluster's errors is FAILED_PRECONDITION to other calls. */
  private static final Set<Errno> FAILED =
      EnumSet.of(Errno.EBUSY, Errno.EBADMSG, Errno.EFBIG, Errno.EUCLEAN);

  private static final int KEPT = 20;
  private static final int MOST = 10_000;

  private final Duration notices;
  private final Ticker clock;
  private final Cache<String, Refusals> refusals;

  /**
   * What is remembered of a volume. Does not change.
   *
   * @param first when it was refused first
   * @param report what the daemon of this site said last
   * @param changed when it began to say that
   * @param copied when the promotion waited for a copy last; else as first
   */
  private record Refusals(long first, String report, long changed, long copied) {
    Refusals saying(String said, long now) {
      return report.equals(said) ? this : new Refusals(first, said, now, copied);
    }

    Refusals copying(long now) {
      return new Refusals(first, report, changed, now);
    }
  }

  /**
   * @param notices after how long each daemon has noticed a demotion
   * @param clock in nanoseconds
   */
  RefusedPromotions(Duration notices, Ticker clock) {
    this.notices = notices;
    this.clock = clock;
    this.refusals =
        Caffeine.newBuilder()
            .ticker(clock)
            .expireAfterWrite(notices.multipliedBy(KEPT))
            .maximumSize(MOST)
            .build();
  }

  /** The volume was promoted, or is not to be the primary now. */
  void forget(VolumeId id) {
    refusals.invalidate(id.toString());
  }

  /**
   * Why a copy must not be promoted without force that librbd would promote. librbd looks at the
   * image of this site only: one that was demoted last, or has all of a demotion, it promotes
   * whatever another site did since.
   *
   * @param status what the daemons say
   * @return FAILED_PRECONDITION or ABORTED; empty when nothing is against it, also when no daemon
   *     tells of it
   */
  Optional<VolumeException> check(VolumeId id, MirrorStatus status) {
    List<MirrorSite> remote = status.remote();
    if (remote.stream().anyMatch(RefusedPromotions::hasNotNoticed)) {
      return Optional.of(refuse(id, status, null));
    }
    if (!isUp(status.local()) && remote.stream().anyMatch(MirrorSite::up)) {
      return Optional.of(
          wait(
              id,
              "the daemon rbd-mirror of this site does not run: it is not known whether all is here"
                  + " that the other site wrote",
              null));
    }
    return Optional.empty();
  }

  /** Has the primary, or follows one that this site has not: unless that was so before. */
  private static boolean hasNotNoticed(MirrorSite site) {
    return site.isUp(MirrorSite.State.STOPPED) || site.isUp(MirrorSite.State.REPLAYING);
  }

  /**
   * Why a volume cannot be promoted without force.
   *
   * @param status what the daemons say
   * @param cause librbd's refusal, if it was asked
   * @return FAILED_PRECONDITION or ABORTED
   */
  VolumeException refuse(VolumeId id, MirrorStatus status, @Nullable Throwable cause) {
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
    Refusals refused = remember(id, local.map(MirrorSite::description).orElse(""), now);
    boolean alive = remote.stream().anyMatch(MirrorSite::up);
    boolean copies = alive || isSyncing(local) || isWithin(notices, refused.changed(), now);
    if (copies && isBehind(local) && isWithin(notices.multipliedBy(COPY), refused.first(), now)) {
      refusals.put(id.toString(), refused.copying(now));
      return wait(id, "what the other site wrote is being copied", cause);
    }
    boolean restarts = !isUp(local) && isWithin(notices, refused.copied(), now);
    if (restarts || isWithin(notices, refused.first(), now)) {
      return wait(
          id,
          alive
              ? "the other site says that it has the primary, or follows one; if it was demoted, its"
                  + " daemon has not noticed it yet"
              : "the daemon of the other site does not run; if that was demoted before, its last"
                  + " writes may still be copied",
          cause);
    }
    return failure(
        Reason.FAILED_PRECONDITION,
        "volume "
            + id
            + " is the primary of another site: demote it there, or force the promotion, which"
            + " loses what was written there since the last copy",
        cause);
  }

  private Refusals remember(VolumeId id, String report, long now) {
    return refusals
        .asMap()
        .compute(
            id.toString(),
            (key, before) ->
                before == null || !isWithin(notices.multipliedBy(KEPT), before.first(), now)
                    ? new Refusals(now, report, now, now)
                    : before.saying(report, now));
  }

  private static boolean isWithin(Duration time, long since, long now) {
    return now - since < time.toNanos();
  }

  /** What fails for another reason than librbd's refusal is ABORTED, not FAILED_PRECONDITION. */
  static RuntimeException notToBeForced(RuntimeException e) {
    boolean failed =
        e instanceof VolumeException volume
            ? volume.reason() == Reason.FAILED_PRECONDITION
            : e instanceof CephException ceph && FAILED.contains(ceph.errno());
    return failed ? new VolumeException(Reason.ABORTED, String.valueOf(e.getMessage()), e) : e;
  }

  /**
   * What the daemon of the other site said last, also if it has died since; or the one here, which
   * looks at the image there, where the other one does not contradict: it has died before it
   * noticed.
   */
  private static boolean isDemoted(Optional<MirrorSite> local, List<MirrorSite> remote) {
    return remote.stream().anyMatch(site -> site.state() == MirrorSite.State.UNKNOWN)
        || (remote.stream().noneMatch(MirrorSite::up)
            && local.filter(site -> site.isUp(MirrorSite.State.UNKNOWN)).isPresent());
  }

  private static boolean isUp(Optional<MirrorSite> local) {
    return local.filter(MirrorSite::up).isPresent();
  }

  private static boolean isBehind(Optional<MirrorSite> local) {
    return local
        .filter(site -> site.isUp(MirrorSite.State.REPLAYING))
        .filter(site -> SyncReport.of(site.description()).behind())
        .isPresent();
  }

  /** Its report may stand still: it copies some images at a time, and others wait. */
  private static boolean isSyncing(Optional<MirrorSite> local) {
    return local.filter(site -> SyncReport.of(site.description()).syncing()).isPresent();
  }

  private static VolumeException wait(VolumeId id, String why, @Nullable Throwable cause) {
    return failure(Reason.ABORTED, "volume " + id + ": " + why + "; try again", cause);
  }

  private static VolumeException failure(Reason reason, String text, @Nullable Throwable cause) {
    return cause == null
        ? new VolumeException(reason, text)
        : new VolumeException(reason, text, cause);
  }
}
