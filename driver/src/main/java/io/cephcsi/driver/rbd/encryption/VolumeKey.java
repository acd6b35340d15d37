package io.cephcsi.driver.rbd.encryption;

import io.cephcsi.driver.kms.Kms;
import io.cephcsi.driver.volume.VolumeException;

/**
 * What opens an encrypted volume or snapshot. All methods block on the KMS, and may be repeated
 * after a crash at any point.
 */
public sealed interface VolumeKey permits ImageKey, FileKey {
  /** Who keeps it. */
  Kms kms();

  /**
   * Sees to it that a volume without content has what its first staging needs.
   *
   * @throws VolumeException as of the KMS
   */
  void setUp();

  /**
   * What a copy gets, which the caller closes. To be asked for before the copy is made.
   *
   * @throws VolumeException as of the KMS; FAILED_PRECONDITION when nothing is known that opens
   *     what the image has
   */
  KeyOrigin origin();

  /**
   * Requires that a source has what it had before it was copied: else nobody knows what opens the
   * copy. A KMS that stores confirms it, as what is read of that may be older.
   *
   * @throws VolumeException ABORTED when it was changed
   */
  void requireUnchanged(KeyOrigin origin);

  /**
   * Gives a copy, which was not answered yet, what opens its source.
   *
   * @throws VolumeException as of the KMS; INVALID_ARGUMENT when a KMS with one passphrase for all
   *     has another; ABORTED when another attempt has left another: the copy is to be given up, and
   *     made under a new id
   */
  void adopt(KeyOrigin origin);

  /**
   * As {@link #adopt}, of a copy that may have been answered: only if it has none yet, as when
   * another driver died before it stored one.
   *
   * @return false if it has one, whether that can be read or not
   */
  boolean adoptIfMissing(KeyOrigin origin);

  /**
   * Requires that a copy has what opens it.
   *
   * @throws VolumeException FAILED_PRECONDITION when it has not; as of the KMS
   */
  void requireThere();
}
