package io.cephcsi.driver.node.rbd;

import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.kms.KeyOwner;
import io.cephcsi.driver.kms.KmsCatalog;
import io.cephcsi.driver.node.StageRequest;
import io.cephcsi.driver.rbd.encryption.EncryptionRequest;
import io.cephcsi.driver.rbd.encryption.ImageKey;
import io.cephcsi.driver.rbd.session.OpenImage;
import io.cephcsi.driver.rbd.session.OpenVolume;
import io.cephcsi.driver.volume.SidecarKeys;
import java.util.Optional;

/** The passphrases of volumes that are staged. */
final class VolumeKeys {
  private static final String CLAIM_NAMESPACE = SidecarKeys.PREFIX + "pvc/namespace";

  private VolumeKeys() {}

  /** The journal decides which KMS it is; entries of old drivers do not say it. */
  static ImageKey of(OpenVolume volume, EncryptionRequest wanted) {
    JournalEntry entry = volume.entry();
    EncryptionRequest.requireOfBlocks("volume " + volume.id(), entry);
    return new ImageKey(
        volume.pool(),
        volume.image().imageId(),
        volume.session().settings().kms().require(entry.encryptionKms().orElse(wanted.kmsId())),
        volume.session().keyOwner(volume.id(), entry.owner()));
  }

  /** Of an image that no driver made, whose PersistentVolume says all. */
  static ImageKey of(
      KmsCatalog kms, StageRequest request, OpenImage image, EncryptionRequest wanted) {
    return new ImageKey(
        image.pool(),
        image.imageId(),
        kms.require(wanted.kmsId()),
        new KeyOwner(
            request.volumeId(),
            Optional.ofNullable(request.context().get(CLAIM_NAMESPACE)),
            request.credentials().others()));
  }
}
