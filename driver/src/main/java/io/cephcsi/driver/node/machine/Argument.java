package io.cephcsi.driver.node.machine;

import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;

/**
 * What was found fit for the command line of a program of root, where {@link Command} takes nothing
 * else but constants: plain text of bounded length that is no option and, in a list of options, no
 * more than one of them. Immutable.
 */
public final class Argument {
  private static final int LONGEST = 32 << 10; // the kernel takes 128 KiB
  private static final Pattern OPTION = Pattern.compile("(?:[^,\"]|\"[^\"]*\")+");
  private static final Pattern LETTER = Pattern.compile("-[a-zA-Z]\\S*");

  private final String text;

  private Argument(String text) {
    this.text = text;
  }

  /**
   * A value.
   *
   * @param what names it in the message, which does not show the value
   * @throws VolumeException INVALID_ARGUMENT when it is empty, too long or not plain, or begins
   *     with a dash
   */
  public static Argument of(String what, String text) {
    return checked(what, text, !text.isEmpty() && !text.startsWith("-"));
  }

  private static Argument checked(String what, String text, boolean fit) {
    if (!fit || text.length() > LONGEST || !PlainText.isPlain(text)) {
      throw VolumeException.invalid(what + " cannot be given to a program");
    }
    return new Argument(text);
  }

  /** The path of a file, device or directory, which must be absolute. */
  public static Argument path(Path path) {
    return checked(
        "the path " + PlainText.show(path.toString()), path.toString(), path.isAbsolute());
  }

  /**
   * Options between commas.
   *
   * @throws VolumeException INVALID_ARGUMENT when one of them is several or none
   */
  public static Argument options(String what, List<String> options) {
    boolean single = options.stream().allMatch(option -> OPTION.matcher(option).matches());
    String text = String.join(",", options);
    return checked(what, text, single && !text.isEmpty() && !text.startsWith("-"));
  }

  /** An option of one letter, with its value. */
  public static Argument letter(String what, String text) {
    return checked(what, text, LETTER.matcher(text).matches());
  }

  /** The text. */
  @Override
  public String toString() {
    return text;
  }
}
