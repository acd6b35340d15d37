package io.cephcsi.driver.rbd.parameters;

import io.cephcsi.bindings.rbd.MirrorMode;
import io.cephcsi.driver.volume.Booleans;
import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The parameters of a VolumeReplicationClass for RBD, checked. All calls check all of them, so that
 * a wrong interval is not found out only after a failover.
 *
 * @param mode how the image is mirrored
 * @param flatten whether a clone is flattened to be mirrored
 * @param force whether the mirroring of a copy that follows no primary may be ended
 * @param schedule when snapshots are taken; empty when by others, or by a journal
 */
public record ReplicationParameters(
    MirrorMode mode, boolean flatten, boolean force, Optional<MirrorSchedule> schedule) {
  private static final Logger LOG = LoggerFactory.getLogger(ReplicationParameters.class);

  private static final String MODE = "mirroringMode";
  private static final String FLATTEN = "flattenMode";
  private static final String FORCE = "force";

  /**
   * Reads the parameters of a request; keys that are not known are ignored.
   *
   * @throws VolumeException INVALID_ARGUMENT naming the parameter
   */
  public static ReplicationParameters parse(Map<String, String> parameters) {
    MirrorMode mode = mode(parameters.getOrDefault(MODE, "snapshot"));
    Optional<MirrorSchedule> schedule = schedule(parameters);
    if (mode == MirrorMode.JOURNAL && schedule.isPresent()) {
      LOG.warn(
          "parameters: {} has no effect: a journal is copied all the time",
          MirrorSchedule.INTERVAL);
      schedule = Optional.empty();
    }
    return new ReplicationParameters(
        mode,
        flatten(parameters.getOrDefault(FLATTEN, "never")),
        Booleans.isTrue("parameters", parameters, FORCE),
        schedule);
  }

  private static MirrorMode mode(String text) {
    return switch (text) {
      case "snapshot" -> MirrorMode.SNAPSHOT;
      case "journal" -> MirrorMode.JOURNAL;
      default -> throw wrong(MODE, "snapshot or journal", text);
    };
  }

  private static boolean flatten(String text) {
    return switch (text) {
      case "never" -> false;
      case "force" -> true;
      default -> throw wrong(FLATTEN, "never or force", text);
    };
  }

  private static Optional<MirrorSchedule> schedule(Map<String, String> parameters) {
    Optional<String> interval = Optional.ofNullable(parameters.get(MirrorSchedule.INTERVAL));
    Optional<String> start = Optional.ofNullable(parameters.get(MirrorSchedule.START_TIME));
    if (start.isPresent() && interval.isEmpty()) {
      throw VolumeException.invalid(
          "parameters: "
              + MirrorSchedule.START_TIME
              + " is given without "
              + MirrorSchedule.INTERVAL);
    }
    return interval.map(text -> MirrorSchedule.of(text, start));
  }

  private static VolumeException wrong(String key, String allowed, String text) {
    return VolumeException.invalid(
        "parameters: " + key + " must be " + allowed + ", not " + PlainText.show(text));
  }
}
