package io.cephcsi.driver.encryption;

import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.kms.FileSecret;
import io.cephcsi.driver.kms.KeyOwner;
import io.cephcsi.driver.kms.KeyStore;
import io.cephcsi.driver.kms.Kms;
import io.cephcsi.driver.kms.KmsCatalog;
import io.cephcsi.driver.kms.Passphrase;
import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How one call reaches the keys of encrypted volumes and snapshots. Safe for several threads; all
 * methods block on the KMS.
 *
 * @param kms those that are configured
 * @param secrets of the request, which a KMS may need
 */
public record KeyAccess(KmsCatalog kms, Map<String, String> secrets) {
  private static final Logger LOG = LoggerFactory.getLogger(KeyAccess.class);

  /** Copies the secrets. */
  public KeyAccess {
    secrets = Map.copyOf(secrets);
  }

  /** Of a call that meets no keys. */
  public static KeyAccess none() {
    return new KeyAccess(
        id -> {
          throw new IllegalStateException("a call without access to keys needs KMS " + id);
        },
        Map.of());
  }

  /**
   * Whose passphrase the KMS is asked for.
   *
   * @param tenant the namespace of the claim
   */
  public KeyOwner owner(VolumeId id, Optional<String> tenant) {
    return new KeyOwner(id.toString(), tenant, secrets);
  }

  /**
   * Requires that a KMS is known, and can give what an encryption needs.
   *
   * @param tenant the namespace of the claim
   * @throws VolumeException INVALID_ARGUMENT if not; as of the KMS
   */
  public void requirePossible(EncryptionRequest wanted, Optional<String> tenant) {
    Kms found = kms.require(wanted.kmsId());
    if (!wanted.isOfBlocks()) {
      ofNew(found, tenant).requirePossible();
    }
  }

  private FileSecret ofNew(Kms found, Optional<String> tenant) {
    return new FileSecret(found, new KeyOwner("the new volume", tenant, secrets));
  }

  /**
   * The KMS that an entry names.
   *
   * @throws VolumeException FAILED_PRECONDITION if it is not configured
   */
  public Kms requireKms(JournalEntry entry) {
    try {
      return kms.require(entry.encryptionKms().orElse(Kms.DEFAULT_ID));
    } catch (VolumeException e) {
      if (e.reason() != Reason.INVALID_ARGUMENT) {
        throw e;
      }
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          entry.requestName() + " is encrypted, and " + e.getMessage(),
          e);
    }
  }

  /**
   * Requires that the KMS of an entry is configured, if it is encrypted: to be asked for before
   * anything is made or moved.
   *
   * @throws VolumeException FAILED_PRECONDITION if it is not
   */
  public void requireKnownKms(JournalEntry entry) {
    if (entry.isEncrypted()) {
      requireKms(entry);
    }
  }

  /**
   * What opens the files of a volume or snapshot.
   *
   * @throws VolumeException FAILED_PRECONDITION if its KMS is not configured
   */
  public FileSecret fileSecret(VolumeId id, JournalEntry entry) {
    return new FileSecret(requireKms(entry), owner(id, entry.owner()));
  }

  /**
   * Requires that the KMS is not asked for the passphrase of a source as another tenant than that
   * of the new volume, unless its class allows that. The journal says whose the source is, and
   * whoever writes to the pool could name himself there: he would know the passphrase of the new
   * volume. Where the KMS is not by tenant, or a tenant is not known, there is nothing to compare.
   *
   * @param wanted for the new volume
   * @param tenant the namespace of its claim
   * @param what the source, for the message
   * @throws VolumeException FAILED_PRECONDITION if it would be; as of {@link #requireKms}
   */
  public void requireOwnSource(
      EncryptionRequest wanted, Optional<String> tenant, String what, JournalEntry source) {
    Optional<String> owner = source.owner();
    boolean own =
        tenant.isEmpty()
            || owner.isEmpty()
            || owner.equals(tenant)
            || wanted.takesFrom(owner.get());
    if (!own && requireKms(source).isByTenant()) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          what
              + " is of the tenant "
              + PlainText.show(owner.get())
              + " by its journal entry ("
              + JournalEntry.OWNER
              + "), the new volume of "
              + PlainText.show(tenant.get())
              + ", and KMS "
              + PlainText.show(source.encryptionKms().orElse(Kms.DEFAULT_ID))
              + " is by tenant: the new volume would get a passphrase that the other tenant may"
              + " know; if that is meant, name that tenant in "
              + EncryptionRequest.SOURCE_TENANTS
              + " of the StorageClass, else set "
              + JournalEntry.OWNER
              + " right");
    }
  }

  /**
   * Requires that a new volume can get the secret of the files of its source, before anything is
   * made.
   *
   * @param wanted for the new volume
   * @param tenant the namespace of its claim
   * @param source what it shows
   * @throws VolumeException FAILED_PRECONDITION if the source has none; INVALID_ARGUMENT if the KMS
   *     has another for all volumes
   */
  public void requireAdoptable(
      EncryptionRequest wanted, Optional<String> tenant, FileSecret source) {
    Optional<Passphrase> found = source.find();
    try {
      if (found.isEmpty()) {
        throw new VolumeException(
            Reason.FAILED_PRECONDITION,
            "KMS "
                + source.kms().id()
                + " has no secret of "
                + source.owner().volumeId()
                + ": its volume was never staged before it was taken, or the secret was lost");
      }
      Kms own = kms.require(wanted.kmsId());
      if (!(own instanceof KeyStore)) {
        ofNew(own, tenant).adopt(found);
      }
    } finally {
      found.ifPresent(Passphrase::close);
    }
  }

  /**
   * Has the KMS remove the passphrase of a volume or snapshot whose data are gone.
   *
   * @throws VolumeException as of the KMS: then the entry is to stay, so that the repeated call
   *     tries again
   */
  public void remove(VolumeId id, JournalEntry entry) {
    if (entry.isEncrypted() && requireKms(entry) instanceof KeyStore store) {
      store.remove(owner(id, entry.owner()));
    }
  }

  /** The same for what was never answered: a passphrase that nobody needs is no reason to fail. */
  public void removeIfPossible(VolumeId id, JournalEntry entry) {
    try {
      remove(id, entry);
    } catch (VolumeException e) {
      LOG.warn("the passphrase of {} stays in its KMS: {}", id, e.getMessage());
    }
  }

  /** Without the secrets. */
  @Override
  public String toString() {
    return "access to keys";
  }
}
