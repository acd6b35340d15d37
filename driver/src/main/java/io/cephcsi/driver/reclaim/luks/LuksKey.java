package io.cephcsi.driver.reclaim.luks;

import io.cephcsi.driver.http.Deadline;
import io.cephcsi.driver.kms.KeyDerivation;
import io.cephcsi.driver.reclaim.fs.BlockReader;
import io.cephcsi.driver.reclaim.fs.InspectionStopped;
import io.cephcsi.driver.reclaim.luks.LuksLayout.Argon2;
import io.cephcsi.driver.reclaim.luks.LuksLayout.Derivation;
import io.cephcsi.driver.reclaim.luks.LuksLayout.Pbkdf2;
import io.cephcsi.driver.reclaim.luks.LuksLayout.Slot;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import org.bouncycastle.crypto.Digest;
import org.bouncycastle.crypto.digests.SHA256Digest;
import org.bouncycastle.crypto.digests.SHA512Digest;
import org.bouncycastle.crypto.generators.Argon2BytesGenerator;
import org.bouncycastle.crypto.generators.PKCS5S2ParametersGenerator;
import org.bouncycastle.crypto.params.Argon2Parameters;
import org.bouncycastle.crypto.params.KeyParameter;

/** Finds the key of the data by a passphrase. */
final class LuksKey {
  private static final Duration TURN = Duration.ofMinutes(1);

  private LuksKey() {}

  /**
   * The key, which the caller wipes. Takes seconds of CPU where Argon2 was measured on a faster
   * machine.
   *
   * @param stop whether to end early; asked before each slot and while others make keys
   * @return empty when the passphrase is that of no slot
   * @throws InspectionStopped if it is to end early
   */
  static Optional<byte[]> find(
      BlockReader device, LuksLayout layout, byte[] passphrase, BooleanSupplier stop)
      throws IOException {
    Runnable goOn = () -> requireGoingOn(stop);
    for (Slot slot : layout.slots()) {
      goOn.run();
      byte[] candidate = open(device, slot, layout.keyBytes(), passphrase, goOn);
      byte[] digest =
          derive(layout.digest().derivation(), candidate, layout.digest().value().length, goOn);
      if (MessageDigest.isEqual(digest, layout.digest().value())) {
        return Optional.of(candidate);
      }
      Arrays.fill(candidate, (byte) 0);
    }
    return Optional.empty();
  }

  private static void requireGoingOn(BooleanSupplier stop) {
    if (stop.getAsBoolean()) {
      throw new InspectionStopped();
    }
  }

  private static byte[] open(
      BlockReader device, Slot slot, int keyBytes, byte[] passphrase, Runnable goOn)
      throws IOException {
    int sectors = (slot.spreadBytes(keyBytes) + AesXts.UNIT - 1) / AesXts.UNIT;
    byte[] area = new byte[sectors * AesXts.UNIT];
    device.read(slot.offset(), ByteBuffer.wrap(area));
    byte[] key = derive(slot.derivation(), passphrase, slot.areaKeyBytes(), goOn);
    try {
      new AesXts(key, AesXts.UNIT).decrypt(area, 0);
      return merge(area, keyBytes, slot);
    } finally {
      Arrays.fill(key, (byte) 0);
      Arrays.fill(area, (byte) 0);
    }
  }

  private static byte[] derive(Derivation how, byte[] secret, int length, Runnable goOn) {
    if (how instanceof Pbkdf2 pbkdf2) {
      Digest hash = pbkdf2.hash().equals("sha512") ? new SHA512Digest() : new SHA256Digest();
      PKCS5S2ParametersGenerator generator = new PKCS5S2ParametersGenerator(hash);
      generator.init(secret, pbkdf2.salt(), pbkdf2.iterations());
      return ((KeyParameter) generator.generateDerivedMacParameters(length * 8)).getKey();
    }
    Argon2 argon2 = (Argon2) how;
    Argon2Parameters parameters =
        new Argon2Parameters.Builder(
                argon2.id() ? Argon2Parameters.ARGON2_id : Argon2Parameters.ARGON2_i)
            .withVersion(Argon2Parameters.ARGON2_VERSION_13)
            .withIterations(argon2.iterations())
            .withMemoryAsKB(argon2.memoryKib())
            .withParallelism(argon2.lanes())
            .withSalt(argon2.salt())
            .build();
    return KeyDerivation.inTurn(
        argon2.memoryKib(),
        argon2.iterations(),
        Deadline.after(TURN),
        goOn,
        () -> {
          byte[] made = new byte[length];
          Argon2BytesGenerator generator = new Argon2BytesGenerator();
          generator.init(parameters);
          generator.generateBytes(secret, made);
          return made;
        });
  }

  /** Undoes what makes a key unreadable when a part of its area is lost (AFsplitter of LUKS). */
  private static byte[] merge(byte[] spread, int keyBytes, Slot slot) {
    byte[] key = new byte[keyBytes];
    for (int stripe = 0; stripe < slot.stripes(); stripe++) {
      if (stripe > 0) {
        diffuse(key, slot.afHash());
      }
      for (int i = 0; i < keyBytes; i++) {
        key[i] ^= spread[stripe * keyBytes + i];
      }
    }
    return key;
  }

  private static void diffuse(byte[] key, String hash) {
    try {
      MessageDigest digest = MessageDigest.getInstance(hash.replace("sha", "SHA-"));
      int length = digest.getDigestLength();
      for (int block = 0; block * length < key.length; block++) {
        int at = block * length;
        int part = Math.min(length, key.length - at);
        digest.update(ByteBuffer.allocate(Integer.BYTES).putInt(0, block));
        digest.update(key, at, part);
        System.arraycopy(digest.digest(), 0, key, at, part);
      }
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("SHA-2 fails", e);
    }
  }
}
