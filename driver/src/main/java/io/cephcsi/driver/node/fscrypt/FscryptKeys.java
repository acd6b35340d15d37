package io.cephcsi.driver.node.fscrypt;

import io.cephcsi.driver.http.Deadline;
import io.cephcsi.driver.kms.KeyDerivation;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.bouncycastle.crypto.generators.Argon2BytesGenerator;
import org.bouncycastle.crypto.params.Argon2Parameters;

/** How fscrypt and the kernel make keys of keys and passphrases. Safe for several threads. */
final class FscryptKeys {
  /** The key that the kernel makes the keys of files of, in bytes. */
  static final int POLICY_BYTES = 64;

  /** The key that wraps it, and one that is given as it is. */
  static final int PROTECTOR_BYTES = 32;

  private static final int DESCRIPTOR_BYTES = 8;
  private static final int IDENTIFIER_BYTES = 16;
  private static final byte[] IDENTIFIER =
      "fscrypt\0\1".getBytes(StandardCharsets.ISO_8859_1); // HKDF_CONTEXT_KEY_IDENTIFIER is 1
  private static final Duration TURN = Duration.ofMinutes(1);
  private static final SecureRandom RANDOM = new SecureRandom();

  private FscryptKeys() {}

  /** Random bytes. */
  static byte[] random(int length) {
    byte[] bytes = new byte[length];
    RANDOM.nextBytes(bytes);
    return bytes;
  }

  /**
   * The name of a protector, and of a policy of version 1: 16 hexadecimal digits, the first 8 bytes
   * of the SHA-512 of the SHA-512 of its key.
   */
  static String descriptor(byte[] key) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-512");
      byte[] twice = digest.digest(digest.digest(key));
      return HexFormat.of().formatHex(twice, 0, DESCRIPTOR_BYTES);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("SHA-512 fails", e);
    }
  }

  /** The kernel's name of the key of a policy of version 2: 32 hexadecimal digits. */
  static String identifier(byte[] key) {
    return HexFormat.of().formatHex(hkdf("HmacSHA512", key, IDENTIFIER, IDENTIFIER_BYTES));
  }

  /** HKDF (RFC 5869) without a salt. */
  static byte[] hkdf(String hmac, byte[] key, byte[] info, int length) {
    byte[] extracted = new byte[0];
    byte[] block = new byte[0];
    try {
      Mac mac = Mac.getInstance(hmac);
      mac.init(new SecretKeySpec(new byte[mac.getMacLength()], hmac));
      extracted = mac.doFinal(key);
      mac.init(new SecretKeySpec(extracted, hmac));
      byte[] out = new byte[length];
      for (int at = 0, count = 1; at < length; at += block.length, count++) {
        mac.update(block);
        mac.update(info);
        block = mac.doFinal(new byte[] {(byte) count});
        System.arraycopy(block, 0, out, at, Math.min(block.length, length - at));
      }
      return out;
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("HMAC fails", e);
    } finally {
      Arrays.fill(extracted, (byte) 0);
      Arrays.fill(block, (byte) 0);
    }
  }

  /**
   * Argon2id of a passphrase: 32 bytes. Takes about a second of CPU, and waits for its turn.
   *
   * @throws VolumeException FAILED_PRECONDITION when it needs more memory than this process has
   */
  static byte[] argon2id(byte[] passphrase, byte[] salt, HashCosts costs) {
    long bytes = (long) costs.memoryKib() << 10;
    // What Java says is a survivor space less than what it was given.
    if (bytes > Runtime.getRuntime().maxMemory() / 2 + (1 << 20)) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "the passphrase of the files takes "
              + (bytes >> 20)
              + " MiB of memory, and the driver has a heap of "
              + (Runtime.getRuntime().maxMemory() >> 20)
              + " MiB: give its process twice as much as the passphrase takes (-Xmx)");
    }
    Argon2Parameters parameters =
        new Argon2Parameters.Builder(Argon2Parameters.ARGON2_id)
            .withVersion(Argon2Parameters.ARGON2_VERSION_13)
            .withIterations(costs.time())
            .withMemoryAsKB(costs.memoryKib())
            .withParallelism(costs.lanes())
            .withSalt(salt)
            .build();
    return KeyDerivation.inTurn(
        costs.memoryKib(),
        costs.time(),
        Deadline.after(TURN),
        () -> {
          byte[] made = new byte[PROTECTOR_BYTES];
          Argon2BytesGenerator generator = new Argon2BytesGenerator();
          generator.init(parameters);
          generator.generateBytes(passphrase, made);
          return made;
        });
  }
}
