package io.cephcsi.driver.kms;

/** One passphrase for all volumes, which a Secret has. There is nothing to store. */
public non-sealed interface SharedPassphrase extends Kms {
  /**
   * The passphrase.
   *
   * @throws io.cephcsi.driver.volume.VolumeException INVALID_ARGUMENT naming the key that the
   *     request's secrets lack
   */
  Passphrase passphrase(KeyOwner owner);
}
