package io.cephcsi.driver.encryption;

import io.cephcsi.driver.journal.JournalEntry;
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
              + " PersistentVolume the attribute encrypted: \"true\"");
    }
  }

  /**
   * Which KMS it is: the journal decides; entries of old drivers do not say it.
   *
   * @throws VolumeException FAILED_PRECONDITION when the journal says another type or KMS
   */
  public String kmsId(EncryptionRequest wanted) {
    if (entry.isEncrypted() && !wanted.type().isOf(entry)) {
      throw differs("encryptionType", wanted.type().word(), PlainText.show(entry.encryptionType()));
    }
    String named = context.getOrDefault(EncryptionRequest.KMS_ID, "");
    String recorded = entry.encryptionKms().orElse(named);
    if (!named.isEmpty() && !named.equals(recorded)) {
      throw differs(EncryptionRequest.KMS_ID, PlainText.show(named), PlainText.show(recorded));
    }
    return entry.encryptionKms().orElse(wanted.kmsId());
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
