package io.cephcsi.driver.journal;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.driver.volume.CheckedName;
import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.regex.Pattern;

/**
 * Validates journal entries: any client with access to the pool can write any bytes there. Every
 * name, id and text that is read passes here, and nothing is written that would not pass. Pure.
 */
final class Damage {
  /** The most bytes of a text. */
  static final int MAX_BYTES = 1024;

  private static final int MAX_KEYS = 20_000;
  private static final String KNOWN = "csi.";
  private static final Pattern IMAGE_ID = Pattern.compile("[A-Za-z0-9._-]{0,128}");
  private static final Pattern POOL = Pattern.compile("([0-9A-Fa-f]{16})?");
  private static final Pattern SNAPSHOT = Pattern.compile("[0-9]{1,18}");
  private static final Set<String> NAMES =
      Set.of(JournalEntry.SOURCE, JournalEntry.CLONED_SUBVOLUME);

  private Damage() {}

  /**
   * Looks at an entry.
   *
   * @param attributes all keys of its object
   * @return what is wrong, escaped and bounded; empty when nothing is
   */
  static Optional<String> of(JournalKind kind, Map<String, String> attributes) {
    if (attributes.size() > MAX_KEYS) {
      return Optional.of("it has " + attributes.size() + " keys");
    }
    return attributes.entrySet().stream()
        .filter(attribute -> attribute.getKey().startsWith(KNOWN))
        .flatMap(attribute -> of(kind, attribute.getKey(), attribute.getValue()).stream())
        .findFirst();
  }

  private static Optional<String> of(JournalKind kind, String key, String value) {
    return value(kind, key, value)
        .map(problem -> PlainText.show(key) + " " + problem + ": " + PlainText.show(value));
  }

  private static Optional<String> value(JournalKind kind, String key, String value) {
    if (!PlainText.isPlain(key) || !PlainText.isPlain(value)) {
      return Optional.of("must have no control characters or direction marks");
    }
    if (key.getBytes(UTF_8).length > MAX_BYTES || value.getBytes(UTF_8).length > MAX_BYTES) {
      return Optional.of("must have at most " + MAX_BYTES + " bytes");
    }
    if (key.equals(kind.nameKey()) || (NAMES.contains(key) && !value.isEmpty())) {
      return CheckedName.problem(value);
    }
    Optional<Pattern> pattern =
        switch (key) {
          case JournalEntry.IMAGE_ID, JournalEntry.NATIVE_IMAGE -> Optional.of(IMAGE_ID);
          case JournalEntry.JOURNAL_POOL -> Optional.of(POOL);
          case JournalEntry.NATIVE_SNAPSHOT -> Optional.of(SNAPSHOT);
          default -> Optional.empty();
        };
    return pattern.filter(p -> !p.matcher(value).matches()).map(p -> "must be " + p);
  }

  /**
   * Refuses to work with an entry that is damaged.
   *
   * @throws VolumeException FAILED_PRECONDITION saying what is wrong
   */
  static void requireNone(JournalKind kind, UUID uuid, Map<String, String> attributes) {
    Optional<String> damage = of(kind, attributes);
    if (damage.isPresent()) {
      throw exception(kind.object(uuid), damage.get());
    }
  }

  /**
   * Refuses to reserve what could not be read again.
   *
   * @throws VolumeException INVALID_ARGUMENT saying what is wrong
   */
  static void requireWritable(JournalKind kind, Map<String, String> attributes) {
    of(kind, attributes)
        .ifPresent(
            damage -> {
              throw VolumeException.invalid("the journal cannot record this: " + damage);
            });
  }

  /**
   * Requires that an entry is that of a name: one of another name must not be handed out, as
   * deleting one would delete the other.
   *
   * @return the entry
   * @throws VolumeException FAILED_PRECONDITION
   */
  static JournalEntry requireName(JournalEntry entry, String requestName) {
    if (!entry.requestName().equals(requestName)) {
      throw exception(
          "the name " + PlainText.show(requestName),
          "it leads to entry " + entry.uuid() + " of the name " + entry.requestName());
    }
    return entry;
  }

  /** What to throw when a name has no entry, and what it should stand for is there. */
  static VolumeException lost(String requestName, UUID uuid, String name) {
    return exception(
        "the name " + PlainText.show(requestName),
        "it leads to entry " + uuid + ", which is missing, but there is " + PlainText.show(name));
  }

  /** What to throw when what is stored is too large to be read. */
  static VolumeException exception(String object, CephException.TooLarge e) {
    return exception(object, e.detail());
  }

  /** What to throw when an entry cannot be read; what is said of it is escaped already. */
  static VolumeException exception(String entry, String damage) {
    return new VolumeException(
        Reason.FAILED_PRECONDITION,
        "damaged journal: "
            + entry
            + ": "
            + damage
            + "; repair or remove it with the command rados");
  }
}
