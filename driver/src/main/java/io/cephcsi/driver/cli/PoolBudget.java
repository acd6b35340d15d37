package io.cephcsi.driver.cli;

import io.cephcsi.driver.app.ConfigException;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What a run may spend.
 *
 * @param bytes how much is discarded before no further image is begun; empty for no bound
 * @param time after how long a run ends; empty for no bound
 */
record PoolBudget(OptionalLong bytes, Optional<Duration> time) {
  private static final PoolBudget NONE = new PoolBudget(OptionalLong.empty(), Optional.empty());
  private static final Pattern SIZE = Pattern.compile("([0-9]{1,18})(?:([KMGTP])(?:i?B)?)?");
  private static final Pattern TIME = Pattern.compile("[0-9hms]+");

  /**
   * Reads a budget: a time has units in small letters, a size none, or one in capitals.
   *
   * @param text empty for no bound
   * @throws ConfigException when it is neither, or nothing
   */
  static PoolBudget parse(@Nullable String text) {
    if (text == null) {
      return NONE;
    }
    if (SIZE.matcher(text).matches()) {
      return new PoolBudget(OptionalLong.of(bytes("--budget", text)), Optional.empty());
    }
    String wrong = "--budget must be a size such as 100G, or a time such as 2h or 30m, not " + text;
    ConfigException.require(TIME.matcher(text).matches(), wrong);
    Duration time = GoDuration.parse("--budget", text);
    ConfigException.require(!time.isZero(), wrong);
    return new PoolBudget(OptionalLong.empty(), Optional.of(time));
  }

  /**
   * Reads a size such as 4096, 100M or 1TiB.
   *
   * @param option what it was given for, for the message
   * @throws ConfigException when it is none, nothing, or more than there can be
   */
  static long bytes(String option, String text) {
    Matcher size = SIZE.matcher(text);
    if (size.matches()) {
      String unit = size.group(2);
      int shift = unit == null ? 0 : 10 * ("KMGTP".indexOf(unit) + 1);
      long number = Long.parseLong(size.group(1));
      if (number > 0 && number <= Long.MAX_VALUE >> shift) {
        return number << shift;
      }
    }
    throw new ConfigException(
        String.format(
            Locale.ROOT, "%s must be a size such as 4096, 100M or 1T, not %s", option, text));
  }
}
