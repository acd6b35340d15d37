package io.cephcsi.driver.kms;

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
}
