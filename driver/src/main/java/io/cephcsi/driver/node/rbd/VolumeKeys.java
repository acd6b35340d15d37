package io.cephcsi.driver.node.rbd;

import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.kms.FileSecret;
import io.cephcsi.driver.kms.KeyOwner;
import io.cephcsi.driver.kms.Kms;
import io.cephcsi.driver.kms.KmsCatalog;
import io.cephcsi.driver.node.StageRequest;
import io.cephcsi.driver.rbd.encryption.EncryptionRequest;
import io.cephcsi.driver.rbd.encryption.FileKey;
import io.cephcsi.driver.rbd.encryption.ImageKey;
import io.cephcsi.driver.rbd.encryption.VolumeKey;
import io.cephcsi.driver.rbd.session.OpenImage;
import io.cephcsi.driver.rbd.session.OpenVolume;
import io.cephcsi.driver.volume.PlainText;
import io.cephcsi.driver.volume.SidecarKeys;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.util.Optional;

/** What opens volumes that are staged. */
final class VolumeKeys {
  private static final String CLAIM_NAMESPACE = SidecarKeys.PREFIX + "pvc/namespace";

  private VolumeKeys() {}

  /**
   * Requires that what is encrypted is not staged as if it were plain: a file system would be made
   * where LUKS belongs, or the workload get what is to be decrypted.
   *
   * @throws VolumeException FAILED_PRECONDITION when only the journal says that it is encrypted
   */
  static void requireSaid(OpenVolume volume, StageRequest request) {
    if (volume.entry().isEncrypted()
        && EncryptionRequest.parse("volume_context", request.context()).isEmpty()) {
      throw new VolumeException(
          Reason.FAILED_PRECONDITION,
          "volume "
              + volume.id()
              + " is encrypted by the journal, and volume_context does not say so: give its"
              + " PersistentVolume the attribute encrypted: \"true\"");
    }
  }

  /**
   * The journal decides which KMS it is; entries of old drivers do not say it.
   *
   * @throws VolumeException FAILED_PRECONDITION when the journal says another type or KMS
   */
  static VolumeKey of(OpenVolume volume, StageRequest request, EncryptionRequest wanted) {
    JournalEntry entry = volume.entry();
    if (entry.isEncrypted() && !wanted.type().isOf(entry)) {
      throw differs(
          volume, "encryptionType", wanted.type().word(), PlainText.show(entry.encryptionType()));
    }
    String named = request.context().getOrDefault(EncryptionRequest.KMS_ID, "");
    String recorded = entry.encryptionKms().orElse(named);
    if (!named.isEmpty() && !named.equals(recorded)) {
      throw differs(
          volume, EncryptionRequest.KMS_ID, PlainText.show(named), PlainText.show(recorded));
    }
    return of(
        wanted,
        volume.image(),
        volume.session().settings().kms().require(entry.encryptionKms().orElse(wanted.kmsId())),
        volume.session().keyOwner(volume.id(), entry.owner()));
  }

  private static VolumeException differs(
      OpenVolume volume, String key, String wanted, String recorded) {
    return new VolumeException(
        Reason.FAILED_PRECONDITION,
        "volume "
            + volume.id()
            + ": volume_context says "
            + key
            + " "
            + wanted
            + ", the journal "
            + recorded);
  }

  /** Of an image that no driver made, whose PersistentVolume says all. */
  static VolumeKey of(
      KmsCatalog kms, StageRequest request, OpenImage image, EncryptionRequest wanted) {
    return of(
        wanted,
        image,
        kms.require(wanted.kmsId()),
        new KeyOwner(
            request.volumeId(),
            Optional.ofNullable(request.context().get(CLAIM_NAMESPACE)),
            request.credentials().others()));
  }

  private static VolumeKey of(EncryptionRequest wanted, OpenImage image, Kms kms, KeyOwner owner) {
    return wanted.isOfBlocks()
        ? new ImageKey(image.pool(), image.imageId(), kms, owner)
        : new FileKey(image.pool(), image.imageId(), new FileSecret(kms, owner));
  }
}
