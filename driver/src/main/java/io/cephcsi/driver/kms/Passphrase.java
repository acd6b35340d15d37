package io.cephcsi.driver.kms;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.Base64;

/**
 * The passphrase of a volume, which LUKS takes as it is. Wiped when closed; what it is never shows.
 * Safe for several threads until closed.
 */
public final class Passphrase implements AutoCloseable {
  private static final int RANDOM_BYTES = 20;
  private static final int OF_FILES_BYTES = 64;
  private static final int OF_FILES_CHARACTERS = 88;
  private static final SecureRandom RANDOM = new SecureRandom();

  private final byte[] bytes;

  private Passphrase(byte[] bytes) {
    this.bytes = bytes;
  }

  /** One of these bytes, which are copied. */
  public static Passphrase of(byte[] bytes) {
    return new Passphrase(bytes.clone());
  }

  /**
   * A new one as ceph-csi makes them: 20 random bytes as 28 characters of URL-safe Base64; of these
   * one without {@code -} and {@code _}, because IBM Key Protect takes plain Base64 only. Two of
   * five have neither: that costs 1.2 bits of 160.
   */
  public static Passphrase random() {
    byte[] random = new byte[RANDOM_BYTES];
    byte[] text;
    do {
      RANDOM.nextBytes(random);
      text = Base64.getUrlEncoder().encode(random);
    } while (!isPlainBase64(text));
    Arrays.fill(random, (byte) 0);
    return new Passphrase(text);
  }

  /** A new one of encrypted files as ceph-csi makes them: 64 random bytes as 88 characters. */
  static Passphrase ofFiles() {
    byte[] random = new byte[OF_FILES_BYTES];
    RANDOM.nextBytes(random);
    Passphrase made = new Passphrase(Base64.getUrlEncoder().encode(random));
    Arrays.fill(random, (byte) 0);
    return made;
  }

  /** Whether it is as long as one of {@link #ofFiles}. */
  boolean isOfFiles() {
    return bytes.length == OF_FILES_CHARACTERS;
  }

  private static boolean isPlainBase64(byte[] text) {
    for (byte character : text) {
      if (character == '-' || character == '_') {
        return false;
      }
    }
    return true;
  }

  /** Another one of the same bytes, which is closed by itself. */
  Passphrase copy() {
    return new Passphrase(bytes.clone());
  }

  /** Its bytes, a copy that the caller wipes. */
  public byte[] bytes() {
    return bytes.clone();
  }

  /** As text, where an interface of another program wants text. */
  public String text() {
    return new String(bytes, UTF_8);
  }

  /** Whether {@link #text} is all of it, and not what is left of bytes that are no UTF-8. */
  boolean isText() {
    byte[] again = text().getBytes(UTF_8);
    try {
      return MessageDigest.isEqual(bytes, again);
    } finally {
      Arrays.fill(again, (byte) 0);
    }
  }

  /** Whether another is the same; takes as long for each. */
  public boolean isSame(Passphrase other) {
    return MessageDigest.isEqual(bytes, other.bytes);
  }

  /** Wipes it. */
  @Override
  public void close() {
    Arrays.fill(bytes, (byte) 0);
  }

  @Override
  public String toString() {
    return "passphrase";
  }
}
