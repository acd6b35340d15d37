package io.cephcsi.driver.kms;

import io.cephcsi.driver.http.Deadline;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * Wraps the passphrase of a volume with a key that scrypt makes of another passphrase and the id of
 * the volume: ceph-csi's KMS {@code metadata}.
 *
 * @param id of the KMS
 * @param isByTenant whether the source is another one for each tenant
 * @param source of the passphrase that wraps
 * @param keys derives keys
 */
record MetadataKms(String id, boolean isByTenant, Source source, ScryptKeys keys)
    implements KeyWrapper {
  private static final int NONCE_BYTES = 12;
  private static final int TAG_BITS = 128;
  private static final Duration TIMEOUT = Duration.ofSeconds(20);
  private static final SecureRandom RANDOM = new SecureRandom();

  /** Where the passphrase that wraps comes from. */
  interface Source {
    Passphrase passphrase(KeyOwner owner, Deadline deadline);
  }

  /** As a section says it. */
  static MetadataKms of(String id, Section section, KubernetesObjects objects) {
    KmsTypes.warnOfUnknown(section, List.of("secretName", "secretNamespace"));
    boolean byTenant =
        section.find("secretName").isPresent() && section.find("secretNamespace").isEmpty();
    return new MetadataKms(id, byTenant, source(section, objects), new ScryptKeys(ScryptKeys.KEPT));
  }

  private static Source source(Section section, KubernetesObjects objects) {
    Optional<String> secret = section.find("secretName");
    Optional<String> namespace = section.find("secretNamespace");
    if (secret.isEmpty()) {
      return (owner, deadline) -> SecretPassphrase.of(owner.secrets());
    }
    return (owner, deadline) ->
        objects
            .secret(
                namespace.orElseGet(
                    () -> owner.requireTenant(section.name(), "set secretNamespace, or ")),
                secret.get(),
                deadline)
            .passphrase(SecretPassphrase.KEY);
  }

  @Override
  public String wrap(KeyOwner owner, Passphrase passphrase) {
    byte[] nonce = new byte[NONCE_BYTES];
    RANDOM.nextBytes(nonce);
    return wrap(owner, passphrase, nonce);
  }

  /** With a nonce, which must be used once; for test vectors. */
  String wrap(KeyOwner owner, Passphrase passphrase, byte[] nonce) {
    byte[] plain = passphrase.bytes();
    try {
      byte[] sealed = cipher(Cipher.ENCRYPT_MODE, owner, nonce).doFinal(plain);
      return new SealedJson(sealed, nonce).text();
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("AES-GCM fails", e);
    } finally {
      Arrays.fill(plain, (byte) 0);
    }
  }

  @Override
  public Passphrase unwrap(KeyOwner owner, String wrapped) {
    SealedJson sealed;
    try {
      sealed = SealedJson.read(wrapped);
    } catch (IOException e) {
      throw refused(owner, "is damaged");
    }
    if (sealed.nonce().length != NONCE_BYTES) {
      throw refused(owner, "is damaged");
    }
    byte[] plain = new byte[0];
    try {
      plain = cipher(Cipher.DECRYPT_MODE, owner, sealed.nonce()).doFinal(sealed.dek());
      return Checks.passphrase("the passphrase of " + owner.volumeId(), plain);
    } catch (GeneralSecurityException e) {
      throw refused(
          owner,
          "is damaged, or was wrapped with another "
              + SecretPassphrase.KEY
              + " or for another volume");
    } finally {
      Arrays.fill(plain, (byte) 0);
    }
  }

  @Override
  public Optional<Passphrase> ownSecret(KeyOwner owner) {
    return Optional.of(source.passphrase(owner, Deadline.after(TIMEOUT)));
  }

  private VolumeException refused(KeyOwner owner, String why) {
    return new VolumeException(
        Reason.FAILED_PRECONDITION,
        "KMS " + id + ": the wrapped passphrase of " + owner.volumeId() + " " + why);
  }

  private Cipher cipher(int mode, KeyOwner owner, byte[] nonce) throws GeneralSecurityException {
    Deadline deadline = Deadline.after(TIMEOUT);
    byte[] secret;
    try (Passphrase wrapping = source.passphrase(owner, deadline)) {
      secret = wrapping.bytes();
    }
    byte[] key = new byte[0];
    try {
      key = keys.key(secret, owner.volumeId(), deadline);
      Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
      cipher.init(mode, new SecretKeySpec(key, "AES"), new GCMParameterSpec(TAG_BITS, nonce));
      return cipher;
    } finally {
      Arrays.fill(secret, (byte) 0);
      Arrays.fill(key, (byte) 0);
    }
  }
}
