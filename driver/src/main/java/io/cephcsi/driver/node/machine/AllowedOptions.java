package io.cephcsi.driver.node.machine;

import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import java.util.Collection;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * The options that users may give to a program of this node: their names, and what their values may
 * be. All others are refused, as programs of root would read and write the files that some of them
 * name. Immutable.
 */
public final class AllowedOptions {
  private static final Map<String, String> KINDS =
      Map.of(
          "N", "\\d{1,18}",
          "S", "\\d{1,18}[a-zA-Z]?",
          "M", "(\\d{1,9}|\\d{1,6}[Kk]|\\d{1,3}[Mm]|1[Gg])",
          "C", "\\d{1,3}",
          "B", "[01]",
          "T", "(true|false|yes|no|on|off|[01])");

  private final Map<String, Pattern> rests;

  private AllowedOptions(Map<String, Pattern> rests) {
    this.rests = rests;
  }

  /**
   * Reads rules, between spaces: {@code name}, {@code name=value}, or {@code name?=value} where the
   * value may be left out. A value is a regular expression, or N for a number, S for a size, M for
   * an amount of memory of at most 1 GiB, C for a count below 1000, B for 0 or 1, T for a boolean.
   */
  public static AllowedOptions of(String... rules) {
    Map<String, Pattern> rests = new TreeMap<>();
    for (String rule : rules.length == 0 ? rules : String.join(" ", rules).split(" ", -1)) {
      String[] parts = rule.split("=", 2);
      String value = parts.length == 1 ? "" : "=" + KINDS.getOrDefault(parts[1], parts[1]);
      boolean optional = parts[0].endsWith("?");
      rests.put(
          optional ? parts[0].substring(0, parts[0].length() - 1) : parts[0],
          Pattern.compile(optional ? "(" + value + ")?" : value));
    }
    return new AllowedOptions(rests);
  }

  /** What either allows. */
  public AllowedOptions or(AllowedOptions other) {
    Map<String, Pattern> all = new TreeMap<>(other.rests);
    rests.forEach(
        (name, rest) ->
            all.merge(name, rest, (one, two) -> Pattern.compile("(" + one + ")|(" + two + ")")));
    return new AllowedOptions(all);
  }

  /** Whether an option is allowed, with its value. */
  public boolean allow(String option) {
    String name = name(option);
    Pattern rest = rests.get(name);
    return rest != null && rest.matcher(option.substring(name.length())).matches();
  }

  private static String name(String option) {
    int equals = option.indexOf('=');
    return equals < 0 ? option : option.substring(0, equals);
  }

  /**
   * Requires that options are allowed.
   *
   * @param where what they were given for, for the message
   * @throws VolumeException INVALID_ARGUMENT with the name of one that is not; its value, which may
   *     be secret, is not told
   */
  public void require(String where, Collection<String> options) {
    options.stream()
        .filter(option -> !allow(option))
        .findFirst()
        .ifPresent(
            option -> {
              throw refusal(where, name(option));
            });
  }

  /** Why an option is not allowed. */
  public VolumeException refusal(String where, String name) {
    String shown = PlainText.show(name);
    return VolumeException.invalid(
        rests.containsKey(name)
            ? where + ": " + shown + " has no such value"
            : where
                + ": "
                + shown
                + " is not allowed; allowed are "
                + (rests.isEmpty() ? "none" : String.join(", ", rests.keySet())));
  }
}
