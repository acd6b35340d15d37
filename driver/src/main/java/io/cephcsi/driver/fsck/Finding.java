package io.cephcsi.driver.fsck;

import io.cephcsi.driver.volume.PlainText;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Pattern;

/**
 * Something that is wrong. All texts are plain: names of others are escaped and cut.
 *
 * @param kind what it is
 * @param place pool, with the namespace behind a slash; or the file system
 * @param object what it is about
 * @param detail more about it, for a person
 * @param bytes what it takes or concerns; empty if that is not known
 * @param command what a person would run to mend it; empty if no single command does
 * @param repair what {@code --repair} does; empty if it does nothing
 */
public record Finding(
    FindingKind kind,
    String place,
    String object,
    String detail,
    OptionalLong bytes,
    String command,
    Optional<Repair> repair) {
  private static final int MAX_TEXT = 300;
  private static final Pattern SAFE = Pattern.compile("[A-Za-z0-9._/@:=-]+");

  /** Escapes and cuts what is shown. */
  public Finding {
    place = PlainText.escape(place, MAX_TEXT);
    object = PlainText.escape(object, MAX_TEXT);
    detail = PlainText.escape(detail, MAX_TEXT);
  }

  /** A finding without more. */
  public static Finding of(FindingKind kind, String place, String object, String detail) {
    return new Finding(kind, place, object, detail, OptionalLong.empty(), "", Optional.empty());
  }

  /** The same, with what it takes in bytes. */
  public Finding with(OptionalLong size) {
    return new Finding(kind, place, object, detail, size, command, repair);
  }

  /**
   * The same, with a command.
   *
   * @param words of it; one that a shell may take for something else leaves the command out
   */
  public Finding with(String... words) {
    for (String word : words) {
      if (!SAFE.matcher(word).matches()) {
        return this;
      }
    }
    return new Finding(kind, place, object, detail, bytes, String.join(" ", words), repair);
  }

  /** The same, with a repair, if there is one. */
  public Finding with(Optional<Repair> mending) {
    return new Finding(kind, place, object, detail, bytes, command, mending);
  }

  /** The same, with a repair. */
  public Finding with(Repair mending) {
    return new Finding(kind, place, object, detail, bytes, command, Optional.of(mending));
  }

  /** What tells it from other findings, in two looks at the same thing. */
  public String key() {
    return kind + "\n" + place + "\n" + object;
  }

  /** Mends a finding. */
  @FunctionalInterface
  public interface Repair {
    /**
     * Carries it out. It looks at what it changes once more, and changes nothing on doubt. A
     * process that dies in it leaves what a second run finds and mends.
     *
     * @return what was done; empty if the state has changed, or is not proven
     */
    Optional<String> mend();
  }
}
