package io.cephcsi.driver.volume;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Optional;

/**
 * A name that may be given to the cluster: it means the same to the driver, to C, to the manager
 * and to a shell. There is no other way to get one than by the check. Immutable.
 */
public final class CheckedName {
  private static final int MAX_BYTES = 255; // NAME_MAX
  private static final String CHARACTERS = "A-Z a-z 0-9 . _ -";

  private final String text;

  private CheckedName(String text) {
    this.text = text;
  }

  /**
   * Checks a name, or the begin of one, that the driver gives: letters and digits of ASCII, dots,
   * underscores and hyphens, but no hyphen first.
   *
   * @param field names it, such as {@code parameters: volumeNamePrefix}
   * @throws VolumeException INVALID_ARGUMENT saying what is wrong with it
   */
  public static CheckedName of(String field, String text) {
    return checked(field, text, problemOfNew(text));
  }

  /**
   * Checks the name of what others made and may have named more freely, such as a pool: plain text
   * without a slash, which begins the next part of a specification.
   *
   * @param field names it, such as {@code parameters: pool}
   * @throws VolumeException INVALID_ARGUMENT saying what is wrong with it
   */
  public static CheckedName ofExisting(String field, String text) {
    return checked(field, text, problem(text));
  }

  private static CheckedName checked(String field, String text, Optional<String> problem) {
    if (problem.isPresent()) {
      throw VolumeException.invalid(field + " " + problem.get() + ": " + PlainText.show(text));
    }
    return new CheckedName(text);
  }

  private static Optional<String> problemOfNew(String text) {
    boolean allowed =
        text.chars()
            .allMatch(
                c ->
                    (c >= 'a' && c <= 'z')
                        || (c >= 'A' && c <= 'Z')
                        || (c >= '0' && c <= '9')
                        || c == '.'
                        || c == '_'
                        || c == '-');
    return !allowed || text.startsWith("-")
        ? Optional.of("may have " + CHARACTERS + " only, and no - first")
        : problem(text);
  }

  /**
   * What keeps a text from being the name of anything.
   *
   * @return empty when nothing does
   */
  public static Optional<String> problem(String text) {
    int bytes = text.getBytes(UTF_8).length;
    if (bytes == 0 || bytes > MAX_BYTES) {
      return Optional.of("must have 1 to " + MAX_BYTES + " bytes, not " + bytes);
    }
    if (!PlainText.isPlain(text)) {
      return Optional.of("must have no control characters or direction marks");
    }
    if (text.contains("/") || text.equals(".") || text.equals("..")) {
      return Optional.of("must be a name, not a path");
    }
    return Optional.empty();
  }

  /** The name. */
  @Override
  public String toString() {
    return text;
  }
}
