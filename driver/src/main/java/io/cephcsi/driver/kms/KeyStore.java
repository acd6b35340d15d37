package io.cephcsi.driver.kms;

import java.util.Optional;

/** A KMS that stores the passphrase of each volume by the volume's id ("integrated"). */
public non-sealed interface KeyStore extends Kms {
  /** The passphrase of a volume or snapshot; empty when the KMS says that there is none. */
  Optional<Passphrase> find(KeyOwner owner);

  /**
   * Stores a passphrase unless there is one: of two calls at the same time one succeeds, where the
   * KMS has a compare-and-set; else the caller holds a lock.
   *
   * @return the passphrase that is stored now: what was given, or that of an earlier call. It is a
   *     new object, which the caller closes; the given one stays open
   */
  Passphrase storeIfAbsent(KeyOwner owner, Passphrase passphrase);

  /**
   * Stores another passphrase for a volume that has one; nothing to do when it has that already.
   * Where the KMS has no compare-and-set, it is read back.
   *
   * @param expected what it has
   * @throws io.cephcsi.driver.volume.VolumeException ABORTED when it has a third one
   */
  void replace(KeyOwner owner, Passphrase expected, Passphrase next);

  /**
   * Requires that a volume has a passphrase now: what was read may be older. Where the KMS has a
   * compare-and-set, the passphrase is stored again by that; else it is read again.
   *
   * @throws io.cephcsi.driver.volume.VolumeException ABORTED when it has another
   */
  void confirm(KeyOwner owner, Passphrase expected);

  /**
   * Removes the passphrase of a volume or snapshot; nothing to do when there is none. One that only
   * its tenant could remove stays, with a warning, when what the tenant logs in with is gone.
   */
  void remove(KeyOwner owner);
}
