package io.cephcsi.driver.node.fscrypt;

import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.Optional;
import javax.crypto.Cipher;
import javax.crypto.Mac;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * A key that another one encrypts, as fscrypt does it: 32 bytes each for AES-256-CTR and
 * HMAC-SHA-256 are made of the other key by HKDF-SHA-256; the HMAC is over IV and ciphertext.
 *
 * <pre>
 *   1 IV (16 bytes)   2 the encrypted key   3 HMAC (32 bytes)
 * </pre>
 *
 * @param iv of AES
 * @param encrypted the key, as long as it is
 * @param hmac proves that key and IV are what was written
 */
@SuppressWarnings("ArrayRecordComponent") // not compared
record WrappedKey(byte[] iv, byte[] encrypted, byte[] hmac) {
  private static final int IV_BYTES = 16;
  private static final int HMAC_BYTES = 32;
  private static final int PART_BYTES = 32;
  private static final SecureRandom RANDOM = new SecureRandom();

  /**
   * Reads it.
   *
   * @param keyBytes how long the key must be
   */
  static WrappedKey read(ProtoFields fields, int keyBytes) throws IOException {
    WrappedKey read = new WrappedKey(fields.bytes(1), fields.bytes(2), fields.bytes(3));
    if (read.iv.length != IV_BYTES
        || read.encrypted.length != keyBytes
        || read.hmac.length != HMAC_BYTES) {
      throw new IOException("a wrapped key has another length");
    }
    return read;
  }

  byte[] encode() {
    return new ProtoFields.Writer().bytes(1, iv).bytes(2, encrypted).bytes(3, hmac).toBytes();
  }

  /** Encrypts a key by another. */
  static WrappedKey wrap(byte[] wrapping, byte[] key) {
    byte[] iv = new byte[IV_BYTES];
    RANDOM.nextBytes(iv);
    return wrap(wrapping, key, iv);
  }

  /** With an IV, which must be used once; for tests. */
  static WrappedKey wrap(byte[] wrapping, byte[] key, byte[] iv) {
    byte[] parts = parts(wrapping);
    try {
      byte[] encrypted = cipher(parts, iv, key);
      return new WrappedKey(iv, encrypted, hmac(parts, iv, encrypted));
    } finally {
      Arrays.fill(parts, (byte) 0);
    }
  }

  /** The key, which the caller wipes; empty when the other key is not the one that wrapped it. */
  Optional<byte[]> unwrap(byte[] wrapping) {
    byte[] parts = parts(wrapping);
    try {
      return MessageDigest.isEqual(hmac, hmac(parts, iv, encrypted))
          ? Optional.of(cipher(parts, iv, encrypted))
          : Optional.empty();
    } finally {
      Arrays.fill(parts, (byte) 0);
    }
  }

  private static byte[] parts(byte[] wrapping) {
    return FscryptKeys.hkdf("HmacSHA256", wrapping, new byte[0], 2 * PART_BYTES);
  }

  private static byte[] cipher(byte[] parts, byte[] iv, byte[] text) {
    try {
      Cipher cipher = Cipher.getInstance("AES/CTR/NoPadding");
      cipher.init(
          Cipher.ENCRYPT_MODE, // it undoes itself
          new SecretKeySpec(parts, 0, PART_BYTES, "AES"),
          new IvParameterSpec(iv));
      return cipher.doFinal(text);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("AES fails", e);
    }
  }

  private static byte[] hmac(byte[] parts, byte[] iv, byte[] encrypted) {
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(parts, PART_BYTES, PART_BYTES, "HmacSHA256"));
      mac.update(iv);
      return mac.doFinal(encrypted);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("HMAC fails", e);
    }
  }
}
