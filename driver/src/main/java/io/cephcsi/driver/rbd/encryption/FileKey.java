package io.cephcsi.driver.rbd.encryption;

import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.kms.FileSecret;
import io.cephcsi.driver.kms.KeyStore;
import io.cephcsi.driver.kms.Kms;
import io.cephcsi.driver.kms.Passphrase;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.Optional;

/**
 * What opens a volume whose files are encrypted. The image has nothing of it in its metadata; its
 * file system has wrapped keys from the first staging on.
 *
 * @param pool of the image
 * @param imageId its id
 * @param secret that opens it
 */
public record FileKey(RbdPool pool, String imageId, FileSecret secret) implements VolumeKey {
  @Override
  public Kms kms() {
    return secret.kms();
  }

  @Override
  public void setUp() {
    secret.requirePossible();
  }

  @Override
  public KeyOrigin origin() {
    Optional<Passphrase> found = secret.find();
    if (found.isEmpty()) {
      requireBlank();
    }
    return new KeyOrigin(found, EncryptionState.NONE, "");
  }

  /** A volume that was never staged has no secret yet; of another one it was lost. */
  private void requireBlank() {
    if (!isBlank()) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "KMS "
              + kms().id()
              + " has no secret of "
              + secret.owner().volumeId()
              + ", but its image has data; nothing was copied");
    }
  }

  private boolean isBlank() {
    try (RbdImage image = pool.openByIdReadOnly(imageId)) {
      return image.diff(
          Optional.empty(), 0, image.size(), true, true, (offset, length, exists) -> !exists);
    }
  }

  /**
   * A staging stores the secret before it writes to the volume: a copy of what is blank afterwards
   * needs none, whatever the KMS has by now.
   */
  @Override
  public void requireUnchanged(KeyOrigin origin) {
    if (!(kms() instanceof KeyStore store)) {
      return;
    }
    Optional<Passphrase> before = origin.passphrase();
    if (before.isPresent()) {
      store.confirm(secret.owner(), before.get());
    } else if (!isBlank()) {
      throw new VolumeException(
          Reason.ABORTED,
          "the secret of " + secret.owner().volumeId() + " was made meanwhile; try again");
    }
  }

  @Override
  public void adopt(KeyOrigin origin) {
    secret.adopt(origin.passphrase());
  }

  /** One that its first staging has made since has no source to take it from. */
  @Override
  public boolean adoptIfMissing(KeyOrigin origin) {
    if (secret.kms() instanceof KeyStore) {
      Optional<Passphrase> own = secret.find();
      if (own.isPresent()) {
        own.get().close();
        return false;
      }
    }
    adopt(origin);
    return true;
  }

  /** A copy of what was never staged has none. */
  @Override
  public void requireThere() {
    Optional<Passphrase> found = secret.find();
    if (found.isEmpty()) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "KMS " + kms().id() + " has no secret of " + secret.owner().volumeId());
    }
    found.get().close();
  }
}
