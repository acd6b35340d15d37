package io.cephcsi.driver.journal;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import java.util.HexFormat;
import java.util.UUID;

/**
 * The value of a directory key: {@code uuid}, or {@code [16 hex digits]/uuid} when the image is in
 * another pool than the journal.
 *
 * @param uuid of the entry
 * @param poolId the pool of the image
 */
record DirectoryValue(UUID uuid, long poolId) {
  private static final int POOL_DIGITS = 16;
  private static final int UUID_LENGTH = 36;

  byte[] encode(long journalPoolId) {
    return text(journalPoolId).getBytes(US_ASCII);
  }

  String text(long journalPoolId) {
    return poolId == journalPoolId
        ? uuid.toString()
        : HexFormat.of().toHexDigits(poolId) + "/" + uuid;
  }

  /**
   * Reads a value.
   *
   * @throws VolumeException FAILED_PRECONDITION if it is neither form: the journal is damaged, and
   *     guessing could lose a volume
   */
  static DirectoryValue decode(String text, long journalPoolId) {
    try {
      if (text.length() == UUID_LENGTH) {
        return new DirectoryValue(uuid(text), journalPoolId);
      }
      if (text.length() == POOL_DIGITS + 1 + UUID_LENGTH && text.charAt(POOL_DIGITS) == '/') {
        return new DirectoryValue(uuid(text.substring(POOL_DIGITS + 1)), pool(text));
      }
      throw new IllegalArgumentException("neither form");
    } catch (IllegalArgumentException e) {
      throw Damage.exception("a directory value", show(text));
    }
  }

  /** A value as it may be shown: one that is too large to be read comes empty. */
  static String show(String text) {
    return PlainText.show(text) + (text.isEmpty() ? " (empty, or more than 64 KiB)" : "");
  }

  private static UUID uuid(String text) {
    UUID uuid = UUID.fromString(text);
    // Java takes other spellings too, and cuts what is too long: that would be another's object.
    if (!uuid.toString().equals(text)) {
      throw new IllegalArgumentException(text + " is not the spelling of a uuid");
    }
    return uuid;
  }

  private static long pool(String text) {
    long pool = HexFormat.fromHexDigitsToLong(text, 0, POOL_DIGITS);
    if (!text.startsWith(HexFormat.of().toHexDigits(pool))) {
      throw new IllegalArgumentException(text + " does not begin with lower-case digits");
    }
    return pool;
  }
}
