package io.cephcsi.driver.kms;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.nio.charset.StandardCharsets;

/** Checks of what others made: passphrases and tokens. Messages do not have them. Pure. */
final class Checks {
  /** As long as cryptsetup takes one from a file. */
  private static final int LONGEST_PASSPHRASE = 8192;

  private static final int LONGEST_TOKEN = 64 << 10;

  private Checks() {}

  /**
   * A passphrase of these bytes, which are copied.
   *
   * @param source for messages
   * @throws VolumeException FAILED_PRECONDITION when it is empty or too long
   */
  static Passphrase passphrase(String source, byte[] bytes) {
    if (bytes.length == 0 || bytes.length > LONGEST_PASSPHRASE) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          source + " must have 1 to " + LONGEST_PASSPHRASE + " bytes; it has " + bytes.length);
    }
    return Passphrase.of(bytes);
  }

  /** As {@link #passphrase(String, byte[])}, of a text. */
  static Passphrase passphrase(String source, String text) {
    return passphrase(source, text.getBytes(StandardCharsets.UTF_8));
  }

  /**
   * The text of a passphrase, for a KMS that stores texts.
   *
   * @param kms for messages
   * @throws VolumeException INVALID_ARGUMENT when it is none: it would be stored as another one
   */
  static String storable(String kms, Passphrase passphrase, KeyOwner owner) {
    if (!passphrase.isText()) {
      throw VolumeException.invalid(
          "KMS "
              + kms
              + " stores texts, and the passphrase of "
              + owner.volumeId()
              + " is no UTF-8: leave its source with its own KMS");
    }
    return passphrase.text();
  }

  /**
   * A token, which goes into a header.
   *
   * @throws VolumeException FAILED_PRECONDITION when it cannot
   */
  static String token(String source, String token) {
    boolean printable =
        !token.isEmpty()
            && token.length() <= LONGEST_TOKEN
            && token.chars().allMatch(character -> character > ' ' && character < 127);
    if (!printable) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          source + " must have 1 to " + LONGEST_TOKEN + " characters of ASCII without blanks");
    }
    return token;
  }
}
