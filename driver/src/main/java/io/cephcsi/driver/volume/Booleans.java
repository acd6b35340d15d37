package io.cephcsi.driver.volume;

import java.util.Map;
import java.util.Optional;

/**
 * Booleans in parameters and contexts, as Go's {@code strconv.ParseBool} reads them, like ceph-csi.
 * Any other text is refused: a misspelt {@code encrypted} must not lead to a volume without
 * encryption. Pure.
 */
public final class Booleans {
  private Booleans() {}

  /**
   * Reads a value.
   *
   * @return empty when it is none, as an empty text or one with blanks
   */
  public static Optional<Boolean> parse(String text) {
    return switch (text) {
      case "1", "t", "T", "true", "TRUE", "True" -> Optional.of(true);
      case "0", "f", "F", "false", "FALSE", "False" -> Optional.of(false);
      default -> Optional.empty();
    };
  }

  /**
   * Reads the value of a key.
   *
   * @param field of the request, such as {@code parameters}
   * @return empty when the key is not there
   * @throws VolumeException INVALID_ARGUMENT naming the key when the value is not a boolean
   */
  public static Optional<Boolean> given(String field, Map<String, String> values, String key) {
    String value = values.get(key);
    if (value == null) {
      return Optional.empty();
    }
    Optional<Boolean> read = parse(value);
    if (read.isEmpty()) {
      throw VolumeException.invalid(
          field + ": " + key + " must be true or false, not " + PlainText.show(value));
    }
    return read;
  }

  /** As {@link #given}; false when the key is not there. */
  public static boolean isTrue(String field, Map<String, String> values, String key) {
    return given(field, values, key).orElse(false);
  }
}
