package io.cephcsi.driver.csi;

import io.cephcsi.driver.testing.TestDriver;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;

/** What publishing must do, of a class with {@code encrypted: true}. */
class EncryptedPublishConformanceIT extends PublishRules {
  @BeforeAll
  static void start() {
    start(
        Kind.RBD,
        TestDriver.rbd(CLUSTER)
            .instance(newInstance())
            .withCredentials()
            .encrypted(Path.of("/nonexistent"), "default")
            .start());
  }
}
