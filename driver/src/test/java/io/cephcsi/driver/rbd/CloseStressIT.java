package io.cephcsi.driver.rbd;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/**
 * Images are opened and closed while others change them, in processes of their own, because librbd
 * aborts at such a close ({@code AsyncOpTracker: m_pending_ops == 0}) if it still has the lock,
 * waits for itself, or uses what it has freed. 20 rounds, 1,000 with {@code
 * CEPH_CSI_TEST_CAMPAIGN=full}.
 */
class CloseStressIT {
  private static final int ROUNDS =
      "full".equals(System.getenv("CEPH_CSI_TEST_CAMPAIGN")) ? 1000 : 20;
  private static final TestCluster CLUSTER = TestCluster.shared();

  @Test
  void aProcessThatOpensAndClosesWhatIsFlattenedLives() throws IOException, InterruptedException {
    lives(FlattenStress.class);
  }

  @Test
  void aProcessThatClosesWhatItLockedAndOthersChangeLives()
      throws IOException, InterruptedException {
    lives(DetachStress.class);
  }

  @Test
  void aProcessThatSnapshotsAndClosesOneImageOnManyThreadsEnds()
      throws IOException, InterruptedException {
    lives(SnapshotStress.class);
  }

  @Test
  void aProcessThatClosesWhatItOpenedJustNowLives() throws IOException, InterruptedException {
    lives(OpenStress.class);
  }

  private static void lives(Class<?> program) throws IOException, InterruptedException {
    String path = System.getProperty("java.class.path");
    Path log = Files.createTempFile("stress", ".log");
    ProcessBuilder builder =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xss4m",
                "-cp",
                System.getProperty("surefire.test.class.path", path),
                program.getName(),
                CLUSTER.monitors(),
                "admin",
                Integer.toString(ROUNDS))
            .redirectErrorStream(true)
            .redirectOutput(log.toFile());
    builder.environment().put("MALLOC_PERTURB_", "137"); // what is freed cannot pass for valid
    Process process = builder.start();
    try (var in = process.getOutputStream()) {
      in.write(CLUSTER.key("admin").getBytes(StandardCharsets.UTF_8));
    }
    boolean ended = process.waitFor(20L + ROUNDS * 10L, TimeUnit.SECONDS);
    process.destroyForcibly();
    assertThat(ended).as(Files.readString(log)).isTrue();
    assertThat(process.exitValue()).as(Files.readString(log)).isZero();
    assertThat(Files.readString(log)).contains("survived " + ROUNDS + " rounds");
    System.out.println(Files.readString(log).lines().reduce((a, b) -> b).orElse(""));
  }
}
