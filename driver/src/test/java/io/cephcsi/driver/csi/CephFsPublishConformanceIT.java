package io.cephcsi.driver.csi;

import org.junit.jupiter.api.BeforeAll;

/** The rules of publishing, for CephFS. */
class CephFsPublishConformanceIT extends PublishRules {
  @BeforeAll
  static void start() {
    start(Kind.CEPHFS);
  }
}
