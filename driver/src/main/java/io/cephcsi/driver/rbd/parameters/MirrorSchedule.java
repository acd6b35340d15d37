package io.cephcsi.driver.rbd.parameters;

import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import java.time.DateTimeException;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.OffsetTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.temporal.TemporalAccessor;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * When snapshots for mirroring are taken, written as the manager writes it: equal schedules are
 * equal texts.
 *
 * @param interval such as {@code 5m}, {@code 1h} or {@code 2d}
 * @param startTime a time of day, such as {@code 14:00:00-05:00}; without a zone the manager's
 */
public record MirrorSchedule(String interval, Optional<String> startTime) {
  /** The parameter with the interval. */
  public static final String INTERVAL = "schedulingInterval";

  /** The parameter with the time of the first snapshot of a day. */
  public static final String START_TIME = "schedulingStartTime";

  private static final Pattern TEXT = Pattern.compile("(\\d{1,6})([mhd])");
  private static final long HOUR = 60;
  private static final long DAY = 24 * HOUR;

  /**
   * Reads an interval and a start time.
   *
   * @param interval digits and m, h or d
   * @param startTime a time, or a date and a time, of ISO 8601
   * @throws VolumeException INVALID_ARGUMENT naming the parameter
   */
  public static MirrorSchedule of(String interval, Optional<String> startTime) {
    Matcher matcher = TEXT.matcher(interval);
    if (!matcher.matches() || Long.parseLong(matcher.group(1)) == 0) {
      throw VolumeException.invalid(
          "parameters: "
              + INTERVAL
              + " must be a number from 1 to 999999 and m, h or d, not "
              + PlainText.show(interval));
    }
    long count = Long.parseLong(matcher.group(1));
    long minutes =
        switch (matcher.group(2)) {
          case "d" -> count * DAY;
          case "h" -> count * HOUR;
          default -> count;
        };
    return new MirrorSchedule(show(minutes), startTime.map(MirrorSchedule::timeOfDay));
  }

  private static String show(long minutes) {
    if (minutes % DAY == 0) {
      return minutes / DAY + "d";
    }
    return minutes % HOUR == 0 ? minutes / HOUR + "h" : minutes + "m";
  }

  private static String timeOfDay(String text) {
    try {
      boolean dated = text.contains("T");
      TemporalAccessor parsed =
          dated
              ? DateTimeFormatter.ISO_DATE_TIME.parseBest(
                  text, OffsetDateTime::from, LocalDateTime::from)
              : DateTimeFormatter.ISO_TIME.parseBest(text, OffsetTime::from, LocalTime::from);
      LocalTime time = LocalTime.from(parsed).withSecond(0).withNano(0);
      Optional<ZoneOffset> zone =
          parsed instanceof OffsetTime || parsed instanceof OffsetDateTime
              ? Optional.of(ZoneOffset.from(parsed))
              : Optional.empty();
      return DateTimeFormatter.ISO_LOCAL_TIME.format(time)
          + zone.map(offset -> offset.equals(ZoneOffset.UTC) ? "+00:00" : offset.getId())
              .orElse("");
    } catch (DateTimeException e) {
      throw new VolumeException(
          VolumeException.Reason.INVALID_ARGUMENT,
          "parameters: "
              + START_TIME
              + " must be a time such as 14:00:00-05:00, not "
              + PlainText.show(text),
          e);
    }
  }

  /** For messages. */
  @Override
  public String toString() {
    return "each " + interval + startTime.map(time -> " from " + time).orElse("");
  }
}
