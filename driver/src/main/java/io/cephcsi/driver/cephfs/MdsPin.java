package io.cephcsi.driver.cephfs;

import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.SidecarKeys;
import io.cephcsi.driver.volume.VolumeException;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Which metadata servers serve a volume: the mutable parameters of CephFS, as of ceph-csi.
 *
 * @param kind of pin
 * @param setting for the manager; checked
 */
public record MdsPin(Kind kind, String setting) {
  private static final String WHERE = "mutable_parameters: ";

  /** A kind of pin; a volume has one at a time. */
  public enum Kind {
    /** To one rank. */
    EXPORT("-1|[0-9]|[1-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-5]", "-1", "a rank, or -1 for none"),
    /** The folders at the top are spread over the ranks. */
    DISTRIBUTED("0|1", "0", "0 or 1"),
    /** Any folder goes to some rank with this probability. */
    RANDOM("0(\\.[0-9]{1,9})?|1(\\.0{1,9})?", "0.0", "between 0.0 and 1.0");

    private final Pattern values;
    private final String none;
    private final String meant;

    Kind(String values, String none, String meant) {
      this.values = Pattern.compile(values);
      this.none = none;
      this.meant = meant;
    }

    /** Its name in the manager's command. */
    String type() {
      return name().toLowerCase(Locale.ROOT);
    }

    String parameter() {
      return "mds-pin-" + type();
    }

    /** The setting that takes it away. */
    String none() {
      return none;
    }
  }

  /**
   * Reads mutable parameters.
   *
   * @return empty when they say nothing
   * @throws VolumeException INVALID_ARGUMENT for a key that is not known, a value that cannot be
   *     meant, and two kinds at a time
   */
  public static Optional<MdsPin> parse(Map<String, String> parameters) {
    List<Map.Entry<String, String>> given =
        parameters.entrySet().stream().filter(e -> !SidecarKeys.contain(e.getKey())).toList();
    List<MdsPin> pins = given.stream().map(e -> parse(e.getKey(), e.getValue().strip())).toList();
    if (pins.size() > 1) {
      throw VolumeException.invalid(WHERE + known() + ": a volume has one of them at a time");
    }
    return pins.stream().findFirst();
  }

  private static MdsPin parse(String key, String value) {
    Kind kind =
        Arrays.stream(Kind.values())
            .filter(each -> each.parameter().equals(key))
            .findFirst()
            .orElseThrow(
                () -> VolumeException.invalid(WHERE + key + " is not known; known are " + known()));
    if (!kind.values.matcher(value).matches()) {
      throw VolumeException.invalid(
          WHERE + key + " must be " + kind.meant + ", not " + PlainText.show(value));
    }
    return new MdsPin(kind, value);
  }

  private static List<String> known() {
    return Arrays.stream(Kind.values()).map(Kind::parameter).toList();
  }

  /**
   * Pins a subvolume, and takes away the pins of other kinds, which would go before it; one command
   * of the manager for each.
   *
   * @throws VolumeException FAILED_PRECONDITION if the metadata servers refuse it
   * @throws io.cephcsi.bindings.error.CephException.NotFound if there is no such subvolume
   */
  void applyTo(SubvolumeAdmin admin, String subvolume) {
    admin.pin(subvolume, kind.type(), setting);
    for (Kind other : Kind.values()) {
      if (other != kind) {
        admin.pin(subvolume, other.type(), other.none());
      }
    }
  }
}
