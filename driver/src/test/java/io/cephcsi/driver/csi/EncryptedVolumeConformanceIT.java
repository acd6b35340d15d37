package io.cephcsi.driver.csi;

import org.junit.jupiter.api.BeforeAll;

/** What all volumes must do, of a class with {@code encrypted: true}. */
class EncryptedVolumeConformanceIT extends VolumeRules {
  @BeforeAll
  static void start() {
    startEncrypted();
  }
}
