package io.cephcsi.driver.kms;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.Scheduler;
import io.cephcsi.driver.http.Deadline;
import io.cephcsi.driver.volume.VolumeException;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.bouncycastle.crypto.generators.SCrypt;
import org.jspecify.annotations.Nullable;

/**
 * Keys that scrypt makes of a passphrase and the id of a volume. That takes 32 MiB of memory and
 * some 0.1 s of CPU: one is made at a time in a process, and what was made is kept for a few
 * minutes, then wiped. Who asks for a kept key must have the same passphrase. Safe for several
 * threads.
 */
final class ScryptKeys {
  /** The length of a key in bytes. */
  static final int BYTES = 32;

  private static final int COST = 32768;
  private static final int BLOCK = 8;
  private static final int MEMORY_KIB = 128 * COST * BLOCK / 1024;
  private static final int PASSES = 2; // it fills the memory, and reads it
  private static final int MOST_KEPT = 256;

  /** How long a key is kept. */
  static final Duration KEPT = Duration.ofMinutes(5);

  private final byte[] hidden = new byte[BYTES];
  private final Cache<ByteBuffer, Kept> kept;

  /**
   * @param time how long a key is kept; zero for not at all
   */
  ScryptKeys(Duration time) {
    new SecureRandom().nextBytes(hidden);
    this.kept =
        Caffeine.newBuilder()
            .maximumSize(time.isZero() ? 0 : MOST_KEPT)
            .expireAfterWrite(time.isZero() ? KEPT : time)
            .executor(Runnable::run)
            .scheduler(Scheduler.systemScheduler())
            .<ByteBuffer, Kept>removalListener((name, key, cause) -> wipe(key))
            .build();
  }

  private static void wipe(@Nullable Kept key) {
    if (key != null) {
      key.wipe();
    }
  }

  /**
   * The key.
   *
   * @param passphrase which the caller wipes
   * @param deadline for the turn to make it
   * @return a copy that the caller wipes
   * @throws VolumeException UNAVAILABLE when too many are made at the same time
   */
  byte[] key(byte[] passphrase, String volumeId, Deadline deadline) {
    byte[] salt = volumeId.getBytes(UTF_8);
    ByteBuffer name = ByteBuffer.wrap(name(passphrase, salt));
    Kept known = kept.getIfPresent(name);
    Optional<byte[]> copy = known == null ? Optional.empty() : known.copy();
    return copy.orElseGet(
        () -> {
          byte[] made = make(passphrase, salt, deadline);
          kept.put(name, new Kept(made.clone()));
          return made;
        });
  }

  private static byte[] make(byte[] passphrase, byte[] salt, Deadline deadline) {
    return KeyDerivation.inTurn(
        MEMORY_KIB,
        PASSES,
        deadline,
        () -> SCrypt.generate(passphrase, salt, COST, BLOCK, 1, BYTES));
  }

  /** What tells nothing of the passphrase without what this process keeps to itself. */
  private byte[] name(byte[] passphrase, byte[] salt) {
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(hidden, mac.getAlgorithm()));
      mac.update(ByteBuffer.allocate(Integer.BYTES).putInt(salt.length).array());
      mac.update(salt);
      return mac.doFinal(passphrase);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("HMAC fails", e);
    }
  }

  /** Wipes all that is kept. */
  void clear() {
    kept.asMap().values().forEach(Kept::wipe);
    kept.invalidateAll();
  }

  /** A key that may be wiped while another thread wants it. */
  private static final class Kept {
    private final byte[] key;
    private boolean wiped;

    Kept(byte[] key) {
      this.key = key;
    }

    synchronized Optional<byte[]> copy() {
      return wiped ? Optional.empty() : Optional.of(key.clone());
    }

    synchronized void wipe() {
      wiped = true;
      Arrays.fill(key, (byte) 0);
    }
  }
}
