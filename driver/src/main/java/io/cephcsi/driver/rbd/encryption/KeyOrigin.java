package io.cephcsi.driver.rbd.encryption;

import io.cephcsi.driver.kms.Passphrase;
import java.util.Optional;

/**
 * What the copy of an encrypted volume or snapshot gets.
 *
 * @param passphrase of the source; empty for encrypted files that were never staged
 * @param state how far the encryption of its blocks was; if it was formatted since, the staging
 *     finds that
 * @param dek as the metadata of its image has it, which a copy may have inherited; empty for none
 */
public record KeyOrigin(Optional<Passphrase> passphrase, EncryptionState state, String dek)
    implements AutoCloseable {
  @Override
  public void close() {
    passphrase.ifPresent(Passphrase::close);
  }

  @Override
  public String toString() {
    return "key of a source, " + state;
  }
}
