package io.cephcsi.driver.cli;

import io.cephcsi.driver.app.ConfigException;
import java.time.Duration;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Times as Go programs write them, in whole units: {@code 1m30s}. */
final class GoDuration {
  private static final Pattern UNITS =
      Pattern.compile("(?:(\\d{1,6})h)?(?:(\\d{1,6})m)?(?:(\\d{1,6})s)?(?:(\\d{1,6})ms)?");

  private GoDuration() {}

  /**
   * Reads a time.
   *
   * @param option what it was given for, for the message
   * @throws ConfigException when it is none
   */
  static Duration parse(String option, String text) {
    Matcher matcher = UNITS.matcher(text.toLowerCase(Locale.ROOT));
    if (text.equals("0")) {
      return Duration.ZERO;
    }
    if (text.isEmpty() || !matcher.matches()) {
      throw new ConfigException(option + " must be a time such as 60s or 1m30s, not " + text);
    }
    return Duration.ofHours(number(matcher.group(1)))
        .plusMinutes(number(matcher.group(2)))
        .plusSeconds(number(matcher.group(3)))
        .plusMillis(number(matcher.group(4)));
  }

  private static long number(@Nullable String digits) {
    return digits == null ? 0 : Integer.parseInt(digits);
  }
}
