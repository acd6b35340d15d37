package io.cephcsi.driver.rbd.mirror;

import io.cephcsi.bindings.rbd.MirrorSite;
import io.cephcsi.bindings.rbd.MirrorStatus;
import io.cephcsi.driver.volume.VolumeException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * How far the copies of a primary are.
 *
 * @param lastSync which state of the primary the other sites have; of several the oldest
 * @param duration how long the last copy took
 * @param bytes how much it moved
 * @param health of the copy that is worst
 * @param message for people
 */
public record ReplicationInfo(
    Instant lastSync, Optional<Duration> duration, long bytes, Health health, String message) {
  /** Whether a copy follows, from worst to best. */
  public enum Health {
    /** The daemon cannot copy. */
    ERROR,
    /** The daemon does not run. */
    DEGRADED,
    /** The daemon does something else. */
    UNKNOWN,
    /** The daemon copies, or has all. */
    HEALTHY
  }

  /**
   * Reads the state of a primary's copies.
   *
   * @param volume for messages
   * @throws VolumeException NOT_FOUND while a site has no complete copy yet, or copies a journal,
   *     of which no such time is known
   */
  static ReplicationInfo of(String volume, MirrorStatus status) {
    List<ReplicationInfo> copies = new ArrayList<>();
    for (MirrorSite site : status.remote()) {
      SyncReport report = SyncReport.of(site.description());
      copies.add(
          new ReplicationInfo(
              report
                  .snapshot()
                  .orElseThrow(
                      () ->
                          VolumeException.notFound(
                              volume
                                  + ": no time of a complete copy is known: the other site is "
                                  + describe(site, report))),
              report.duration(),
              report.bytes(),
              health(site),
              describe(site, report)));
    }
    ReplicationInfo oldest =
        copies.stream()
            .min(Comparator.comparing(ReplicationInfo::lastSync))
            .orElseThrow(
                () -> VolumeException.notFound(volume + ": no other site has copied it yet"));
    ReplicationInfo worst =
        copies.stream().min(Comparator.comparing(ReplicationInfo::health)).orElseThrow();
    return new ReplicationInfo(
        oldest.lastSync, oldest.duration, oldest.bytes, worst.health, worst.message);
  }

  private static String describe(MirrorSite site, SyncReport report) {
    return site.show() + (report.words().isEmpty() ? "" : " (" + report.words() + ")");
  }

  private static Health health(MirrorSite site) {
    if (!site.up()) {
      return Health.DEGRADED;
    }
    return switch (site.state()) {
      case ERROR -> Health.ERROR;
      case REPLAYING, STOPPED -> Health.HEALTHY;
      case UNKNOWN, SYNCING, STARTING_REPLAY, STOPPING_REPLAY -> Health.UNKNOWN;
    };
  }
}
