package io.cephcsi.driver.encryption;

import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.kms.Kms;
import io.cephcsi.driver.kms.KmsCatalog;
import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.Map;
import java.util.Optional;

/**
 * What the journal and the context of a volume that is staged say of its encryption: both must say
 * the same.
 *
 * @param volumeId for messages
 * @param entry what the journal says
 * @param context of the volume
 */
public record StagedEncryption(String volumeId, JournalEntry entry, Map<String, String> context) {
  /** Copies the context. */
  public StagedEncryption {
    context = Map.copyOf(context);
  }

  /**
   * Requires that what is encrypted is not staged as if it were plain.
   *
   * @param wanted what the context says
   * @throws VolumeException FAILED_PRECONDITION when only the journal says that it is encrypted
   */
  public void requireSaid(Optional<EncryptionRequest> wanted) {
    if (entry.isEncrypted() && wanted.isEmpty()) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "volume "
              + volumeId
              + " is encrypted by the journal, and volume_context does not say so: give its"
              + " PersistentVolume the attributes encrypted: \"true\" and encryptionKMSID: "
              + PlainText.show(entry.encryptionKms().orElse("")));
    }
  }

  /**
   * Which KMS it is. Whoever writes to the pool can change the journal, and would choose the
   * passphrase of a volume that is not formatted yet: so the journal must say what the context
   * says. Entries of old drivers, which encrypted blocks only, do not name the KMS, and contexts of
   * other drivers no tenant. The tenant counts only where the KMS is by tenant: ceph-csi's
   * controller of PersistentVolumes writes the namespace of another claim, that a volume is bound
   * to later, into the journal, and what a context says stays.
   *
   * @param configured has the KMS
   * @throws VolumeException FAILED_PRECONDITION when the journal says another type, KMS or tenant,
   *     or not that files are encrypted; as of {@link KmsCatalog#require}
   */
  public Kms kms(EncryptionRequest wanted, KmsCatalog configured) {
    if (entry.isEncrypted() && !wanted.type().isOf(entry)) {
      throw differs("encryptionType", wanted.type().word(), PlainText.show(entry.encryptionType()));
    }
    if (!entry.isEncrypted() && !wanted.isOfBlocks()) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "volume "
              + volumeId
              + ": volume_context says that its files are encrypted, and its journal entry does not"
              + " say so: no driver would remove or copy its secret; set "
              + JournalEntry.ENCRYPTION_KMS
              + " and "
              + JournalEntry.ENCRYPTION_TYPE
              + " there");
    }
    String recorded = entry.encryptionKms().orElse(wanted.kmsId());
    if (!wanted.kmsId().equals(recorded)) {
      throw differs(
          EncryptionRequest.KMS_ID, PlainText.show(wanted.kmsId()), PlainText.show(recorded));
    }
    Kms kms = configured.require(wanted.kmsId());
    if (kms.isByTenant()) {
      requireSameTenant(kms);
    }
    return kms;
  }

  private void requireSameTenant(Kms kms) {
    String tenant = context.get(EncryptionRequest.TENANT);
    String recorded = entry.owner().orElse("");
    if (tenant != null && !tenant.equals(recorded)) {
      throw differs(
          EncryptionRequest.TENANT,
          PlainText.show(tenant),
          PlainText.show(recorded)
              + " ("
              + JournalEntry.OWNER
              + "), and KMS "
              + kms.id()
              + " is by tenant: set "
              + JournalEntry.OWNER
              + " back to "
              + PlainText.show(tenant)
              + ", which is safe unless the passphrase was moved to the other tenant; then make the"
              + " PersistentVolume anew, with that one as its "
              + EncryptionRequest.TENANT);
    }
  }

  private VolumeException differs(String key, String wanted, String recorded) {
    return new VolumeException(
        Reason.FAILED_PRECONDITION,
        "volume "
            + volumeId
            + ": volume_context says "
            + key
            + " "
            + wanted
            + ", the journal "
            + recorded);
  }
}
