package io.cephcsi.driver.kms;

/** The KMS that are configured. Safe for several threads. */
public interface KmsCatalog {
  /**
   * A KMS by its id, as a StorageClass or the journal has it; {@link Kms#DEFAULT_ID} needs no
   * configuration. Blocks where the configuration is to be read.
   *
   * @throws io.cephcsi.driver.volume.VolumeException INVALID_ARGUMENT for an id that is not
   *     configured or a section that is wrong
   */
  Kms require(String id);
}
