package io.cephcsi.driver.cephfs;

import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.encryption.EncryptionRequest;
import io.cephcsi.driver.encryption.StagedEncryption;
import io.cephcsi.driver.kms.FileSecret;
import io.cephcsi.driver.kms.KeyOwner;
import io.cephcsi.driver.kms.KmsCatalog;
import io.cephcsi.driver.volume.SidecarKeys;
import io.cephcsi.driver.volume.StaticVolume;
import java.util.Map;
import java.util.Optional;

/** What opens the files of a volume that is staged; asks no KMS. */
final class StagedSecret {
  private static final String CONTEXT = "volume_context";
  private static final String CLAIM_NAMESPACE = SidecarKeys.PREFIX + "pvc/namespace";

  private StagedSecret() {}

  /**
   * Of a volume that a driver made; empty when it is not encrypted.
   *
   * @throws io.cephcsi.driver.volume.VolumeException FAILED_PRECONDITION if journal and context
   *     differ; INVALID_ARGUMENT for an encryption that CephFS does not have
   */
  static Optional<FileSecret> of(OpenVolume volume, Map<String, String> context, KmsCatalog kms) {
    StagedEncryption said = new StagedEncryption(volume.id().toString(), volume.entry(), context);
    Optional<EncryptionRequest> wanted = EncryptionRequest.parseOfCephFs(CONTEXT, context);
    said.requireSaid(wanted);
    return wanted.map(
        encryption ->
            new FileSecret(
                said.kms(encryption, kms),
                volume.files().keys().owner(volume.id(), volume.entry().owner())));
  }

  /** Of one that no driver made, whose context says all. */
  static Optional<FileSecret> of(StaticVolume volume, Credentials credentials, KmsCatalog kms) {
    return EncryptionRequest.parseOfCephFs(CONTEXT, volume.context())
        .map(
            encryption ->
                new FileSecret(
                    kms.require(encryption.kmsId()),
                    new KeyOwner(
                        volume.handle(), volume.given(CLAIM_NAMESPACE), credentials.others())));
  }
}
