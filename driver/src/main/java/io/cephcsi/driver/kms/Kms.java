package io.cephcsi.driver.kms;

/**
 * A key management system, as its configuration names it. It keeps the passphrase of each volume in
 * one of three ways. Safe for several threads; all calls block, with time limits of their own.
 *
 * <p>Failures are {@link io.cephcsi.driver.volume.VolumeException}s: UNAVAILABLE when the KMS
 * cannot be reached or says that it is busy, UNAUTHENTICATED or FAILED_PRECONDITION when it
 * refuses, INVALID_ARGUMENT for a request without what it needs. No message has a secret in it.
 */
public sealed interface Kms permits SharedPassphrase, KeyStore, KeyWrapper {
  /** The id of the KMS that needs no configuration. */
  String DEFAULT_ID = "default";

  /** Its id, which the journal records. */
  String id();

  /**
   * Whether what it answers depends on the {@link KeyOwner#tenant()}: else a volume has the same
   * passphrase whatever that is.
   */
  default boolean isByTenant() {
    return false;
  }

  /** Whether a volume can get another passphrase. */
  default boolean canReplace() {
    return !(this instanceof SharedPassphrase);
  }
}
