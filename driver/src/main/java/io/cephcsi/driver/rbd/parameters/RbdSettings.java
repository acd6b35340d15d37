package io.cephcsi.driver.rbd.parameters;

import io.cephcsi.driver.kms.KmsCatalog;
import io.cephcsi.driver.kms.KmsConfig;
import io.cephcsi.driver.rbd.image.ImageLabels;

/**
 * The settings of a driver for its RBD volumes.
 *
 * @param instanceId tells several drivers on one pool apart
 * @param limits on chains of clones
 * @param labels what is written on images
 * @param kms who keeps the passphrases of encrypted volumes
 */
public record RbdSettings(
    String instanceId, CloneLimits limits, ImageLabels labels, KmsCatalog kms) {
  /** The settings of an instance that configures nothing else. */
  public static RbdSettings of(String instanceId) {
    return new RbdSettings(
        instanceId,
        CloneLimits.DEFAULT,
        ImageLabels.NONE,
        KmsConfig.ofProcess(KmsConfig.DEFAULT_FILE));
  }
}
