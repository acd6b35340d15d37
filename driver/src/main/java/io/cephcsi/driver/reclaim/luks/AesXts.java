package io.cephcsi.driver.reclaim.luks;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import javax.crypto.Cipher;
import javax.crypto.spec.SecretKeySpec;

/**
 * AES in XTS mode (IEEE 1619) as dm-crypt's {@code aes-xts-plain64} has it, decryption only: the
 * JDK has AES, and not that mode. Not safe for several threads.
 */
final class AesXts {
  /** What the numbers of sectors count, in bytes, whatever the size of a sector. */
  static final int UNIT = 512;

  private static final int BLOCK = 16;
  private static final int PIECE = 256 << 10;
  private static final long POLYNOMIAL = 0x87;

  private final Cipher data;
  private final Cipher tweak;
  private final int sectorBytes;

  /**
   * @param key 32 bytes for AES-128 or 64 for AES-256: one for the data, one for the tweaks
   * @param sectorBytes what is encrypted at a time; a multiple of 512
   */
  AesXts(byte[] key, int sectorBytes) {
    this.data = cipher(Cipher.DECRYPT_MODE, key, 0);
    this.tweak = cipher(Cipher.ENCRYPT_MODE, key, key.length / 2);
    this.sectorBytes = sectorBytes;
  }

  private static Cipher cipher(int mode, byte[] key, int from) {
    byte[] half = Arrays.copyOfRange(key, from, from + key.length / 2);
    try {
      Cipher cipher = Cipher.getInstance("AES/ECB/NoPadding");
      cipher.init(mode, new SecretKeySpec(half, "AES"));
      return cipher;
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("AES fails", e);
    } finally {
      Arrays.fill(half, (byte) 0);
    }
  }

  /**
   * Decrypts sectors in place.
   *
   * @param bytes whole sectors that follow one another
   * @param number of the first sector, in units of 512 bytes
   */
  void decrypt(byte[] bytes, long number) {
    try {
      for (int at = 0; at < bytes.length; at += PIECE) {
        int length = Math.min(PIECE, bytes.length - at);
        byte[] tweaks = tweaks(number + at / UNIT, length);
        xor(bytes, at, tweaks);
        data.doFinal(bytes, at, length, bytes, at);
        xor(bytes, at, tweaks);
      }
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("AES fails", e);
    }
  }

  /** One for each block: the encrypted number of its sector, times 2 in GF(2^128) for each step. */
  private byte[] tweaks(long number, int length) throws GeneralSecurityException {
    int sectors = length / sectorBytes;
    ByteBuffer numbers = ByteBuffer.allocate(sectors * BLOCK).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < sectors; i++) {
      numbers.putLong(i * BLOCK, number + (long) i * (sectorBytes / UNIT));
    }
    ByteBuffer first =
        ByteBuffer.wrap(tweak.doFinal(numbers.array())).order(ByteOrder.LITTLE_ENDIAN);
    ByteBuffer all = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
    while (first.hasRemaining()) {
      long low = first.getLong();
      long high = first.getLong();
      for (int i = 0; i < sectorBytes; i += BLOCK) {
        all.putLong(low).putLong(high);
        long carry = high >>> 63;
        high = high << 1 | low >>> 63;
        low = low << 1 ^ carry * POLYNOMIAL;
      }
    }
    return all.array();
  }

  private static void xor(byte[] bytes, int from, byte[] with) {
    for (int i = 0; i < with.length; i++) {
      bytes[from + i] ^= with[i];
    }
  }
}
