package io.cephcsi.driver.kms;

import java.util.Optional;

/**
 * A KMS that encrypts passphrases, which the driver keeps with the image ("metadata"). Wrapped text
 * is bound to the id of the volume, where the format has it so: a copy is unwrapped and wrapped
 * again.
 */
public non-sealed interface KeyWrapper extends Kms {
  /** Encrypts a passphrase; the text is what ceph-csi keeps in {@code rbd.csi.ceph.com/dek}. */
  String wrap(KeyOwner owner, Passphrase passphrase);

  /**
   * Decrypts it.
   *
   * @throws io.cephcsi.driver.volume.VolumeException FAILED_PRECONDITION when the text is damaged
   *     or the key is another
   */
  Passphrase unwrap(KeyOwner owner, String wrapped);

  /**
   * The secret by which it wraps, which the caller closes; empty where nobody may have that, as of
   * a server.
   *
   * @throws io.cephcsi.driver.volume.VolumeException INVALID_ARGUMENT naming the key that the
   *     request's secrets lack
   */
  default Optional<Passphrase> ownSecret(KeyOwner owner) {
    return Optional.empty();
  }
}
