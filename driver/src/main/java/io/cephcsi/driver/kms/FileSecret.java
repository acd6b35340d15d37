package io.cephcsi.driver.kms;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.Optional;

/**
 * What opens the encrypted files of a volume, as ceph-csi has it: in a KMS that stores, a secret by
 * the id of the volume; else the passphrase that the KMS itself has. All methods block on the KMS.
 *
 * @param kms who has it
 * @param owner whose it is
 */
public record FileSecret(Kms kms, KeyOwner owner) {
  /**
   * Requires that it can be: the KMS can give a secret, and what the request must have is there.
   *
   * @throws VolumeException INVALID_ARGUMENT when it cannot; as of the KMS
   */
  public void requirePossible() {
    if (!(kms instanceof KeyStore)) {
      require().close();
    }
  }

  /** Of a KMS that stores nothing. */
  private Passphrase require() {
    if (kms instanceof SharedPassphrase shared) {
      return shared.passphrase(owner);
    }
    if (kms instanceof KeyWrapper wrapper) {
      return wrapper
          .ownSecret(owner)
          .orElseThrow(
              () ->
                  VolumeException.invalid(
                      "KMS "
                          + kms.id()
                          + " only wraps keys, and files (encryptionType file) need a secret: use"
                          + " a KMS of another type, or encryptionType block"));
    }
    throw new IllegalStateException("KMS " + kms.id() + " stores secrets");
  }

  /** It, which the caller closes; empty when the KMS stores secrets and has none yet. */
  public Optional<Passphrase> find() {
    return kms instanceof KeyStore store ? store.find(owner) : Optional.of(require());
  }

  /** It, which the caller closes; made where the KMS stores secrets and has none yet. */
  public Passphrase make() {
    if (!(kms instanceof KeyStore store)) {
      return require();
    }
    try (Passphrase made = Passphrase.ofFiles()) {
      return store.storeIfAbsent(owner, made);
    }
  }

  /**
   * Whether its first bytes are a key as they are, because it is as random as one; else it is a
   * passphrase, which somebody may have chosen.
   */
  public boolean isKey(Passphrase secret) {
    return kms instanceof KeyStore && secret.isOfFiles();
  }

  /**
   * Gives a copy of a volume the secret of its source. May be repeated.
   *
   * @param source of the source; empty when that has none yet
   * @throws VolumeException INVALID_ARGUMENT when the KMS has another for all volumes; ABORTED when
   *     another attempt has left another
   */
  public void adopt(Optional<Passphrase> source) {
    if (source.isEmpty()) {
      return; // the first staging makes it
    }
    if (kms instanceof KeyStore store) {
      try (Passphrase kept = store.storeIfAbsent(owner, source.get())) {
        if (!kept.isSame(source.get())) {
          throw new VolumeException(
              Reason.ABORTED,
              "another attempt to make " + owner.volumeId() + " left another secret; try again");
        }
      }
      return;
    }
    try (Passphrase own = require()) {
      if (!own.isSame(source.get())) {
        throw VolumeException.invalid(
            "the source has another secret of its files than KMS " + kms.id() + " has");
      }
    }
  }
}
