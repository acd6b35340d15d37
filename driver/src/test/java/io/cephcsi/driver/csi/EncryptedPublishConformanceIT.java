package io.cephcsi.driver.csi;

import org.junit.jupiter.api.BeforeAll;

/** What publishing must do, of a class with {@code encrypted: true}. */
class EncryptedPublishConformanceIT extends PublishRules {
  @BeforeAll
  static void start() {
    startEncrypted();
  }
}
