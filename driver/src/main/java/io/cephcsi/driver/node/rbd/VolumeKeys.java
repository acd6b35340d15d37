package io.cephcsi.driver.node.rbd;

import io.cephcsi.driver.encryption.EncryptionRequest;
import io.cephcsi.driver.encryption.StagedEncryption;
import io.cephcsi.driver.kms.FileSecret;
import io.cephcsi.driver.kms.KeyOwner;
import io.cephcsi.driver.kms.Kms;
import io.cephcsi.driver.kms.KmsCatalog;
import io.cephcsi.driver.node.StageRequest;
import io.cephcsi.driver.rbd.encryption.FileKey;
import io.cephcsi.driver.rbd.encryption.ImageKey;
import io.cephcsi.driver.rbd.encryption.VolumeKey;
import io.cephcsi.driver.rbd.session.OpenImage;
import io.cephcsi.driver.rbd.session.OpenVolume;
import io.cephcsi.driver.volume.SidecarKeys;
import java.util.Optional;

/** What opens volumes that are staged. */
final class VolumeKeys {
  private static final String CLAIM_NAMESPACE = SidecarKeys.PREFIX + "pvc/namespace";

  private VolumeKeys() {}

  /** As {@link StagedEncryption#requireSaid}: a file system would be made where LUKS belongs. */
  static void requireSaid(OpenVolume volume, StageRequest request) {
    said(volume, request).requireSaid(EncryptionRequest.parse("volume_context", request.context()));
  }

  private static StagedEncryption said(OpenVolume volume, StageRequest request) {
    return new StagedEncryption(volume.id().toString(), volume.entry(), request.context());
  }

  /** By {@link StagedEncryption#kms}. */
  static VolumeKey of(OpenVolume volume, StageRequest request, EncryptionRequest wanted) {
    return of(
        wanted,
        volume.image(),
        said(volume, request).kms(wanted, volume.session().settings().kms()),
        volume.session().keys().owner(volume.id(), volume.entry().owner()));
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
