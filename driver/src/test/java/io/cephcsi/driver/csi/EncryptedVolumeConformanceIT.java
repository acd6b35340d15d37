package io.cephcsi.driver.csi;

import io.cephcsi.driver.testing.TestDriver;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;

/** What all volumes must do, of a class with {@code encrypted: true}. */
class EncryptedVolumeConformanceIT extends VolumeRules {
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
