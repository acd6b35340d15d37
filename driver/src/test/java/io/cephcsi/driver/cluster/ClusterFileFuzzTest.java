package io.cephcsi.driver.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.testing.Fuzzing;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Whatever stands in the clusters' file: it is read, or it is said what is wrong. */
class ClusterFileFuzzTest {
  @Test
  void readerNeverFailsInAnotherWay() {
    Fuzzing.run(
        Configurations.class,
        List.of(
            "[{\"clusterID\":\"a\",\"monitors\":[\"m:1\"],\"rbd\":{\"radosNamespace\":\"n\"}}]"
                .getBytes(UTF_8),
            "[{\"clusterID\":\"a\",\"monitors\":[\"m\"],\"readAffinity\":{\"enabled\":true}}]"
                .getBytes(UTF_8),
            "[[[[{}]]]]".getBytes(UTF_8)));
  }

  /** The input is the file. */
  public static final class Configurations {
    private Configurations() {}

    /** What the fuzzer calls. */
    @SuppressWarnings("CheckReturnValue")
    public static void fuzzerTestOneInput(byte[] input) throws IOException {
      Path file = Path.of("config.json"); // in the fuzzer's own folder
      Files.write(file, input);
      try {
        new ClusterDirectory(file).clusters();
      } catch (VolumeException wrong) {
        wrong.getMessage();
      }
    }
  }
}
