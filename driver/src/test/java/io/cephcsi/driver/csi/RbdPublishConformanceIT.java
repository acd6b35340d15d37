package io.cephcsi.driver.csi;

import org.junit.jupiter.api.BeforeAll;

/** The rules of publishing, for RBD. */
class RbdPublishConformanceIT extends PublishRules {
  @BeforeAll
  static void start() {
    start(Kind.RBD);
  }
}
