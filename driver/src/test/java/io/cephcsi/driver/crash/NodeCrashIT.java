package io.cephcsi.driver.crash;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.NodeClient;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * At the steps of a volume's life on the node, programs that the driver runs, files and metadata
 * that it writes, its process is halted, or the process that serves the device or mount is killed.
 * Then that life is led from the start, by another driver or the same, and nothing is left. {@code
 * CEPH_CSI_TEST_CAMPAIGN=full} tries every step, before and after it; else a sample.
 */
class NodeCrashIT {
  private static final boolean FULL = "full".equals(System.getenv("CEPH_CSI_TEST_CAMPAIGN"));
  private static final int MAX_STEPS = 60;
  private static final List<String> MOMENTS = List.of("before", "after");

  private static long seed() {
    long seed =
        Optional.ofNullable(System.getenv("CEPH_CSI_TEST_SEED"))
            .map(Long::parseLong)
            .orElseGet(System::nanoTime);
    System.out.println("CEPH_CSI_TEST_SEED=" + seed);
    return seed;
  }

  /** Tries one step, given as {@code before,N} or {@code after,N}; whether life has as many. */
  private interface Attempt {
    boolean reaches(String step) throws Exception;
  }

  /**
   * Tries all steps, or some.
   *
   * @param least how many steps there are at least
   * @param sample how many are tried unless all are
   */
  private static void atSteps(int least, int sample, Attempt attempt) throws Exception {
    if (!FULL) {
      Random random = new Random(seed());
      for (int i = 0; i < sample; i++) {
        String step = MOMENTS.get(random.nextInt(2)) + "," + (1 + random.nextInt(least));
        assertThat(attempt.reaches(step)).as(step).isTrue();
      }
      return;
    }
    for (String moment : MOMENTS) {
      int step = 1;
      while (step <= MAX_STEPS && attempt.reaches(moment + "," + step)) {
        step++;
      }
      assertThat(step).as("the first step behind the end").isBetween(least + 1, MAX_STEPS);
    }
  }

  @ParameterizedTest
  @CsvSource({"rbd,15", "rbd-files,23", "cephfs,14"})
  void aLifeThatWasCutOffAtAnyStepIsLedAgain(String type, int steps) throws Exception {
    try (NodeLife life = NodeLife.of(type)) {
      atSteps(steps, 2, step -> isCutOff(life, step));
    }
  }

  private static boolean isCutOff(NodeLife life, String fault) throws Exception {
    life.prepare();
    boolean halted;
    try (FaultyDriver faulty = faulty(life, fault + ",calls-")) {
      if (isLed(life, client(life, faulty))) {
        halted = faulty.halted(Duration.ofMillis(500));
      } else {
        halted = faulty.halted(Duration.ofSeconds(60));
        assertThat(halted).as(fault).isTrue();
      }
    }
    try (NodeClient node = life.driver.node()) {
      life.forgetDead(node);
      leadAgain(life, node, fault);
    }
    return halted;
  }

  private static boolean isLed(NodeLife life, NodeClient node) throws IOException {
    try {
      life.lead(node);
      return true;
    } catch (StatusRuntimeException e) {
      return false;
    }
  }

  private static FaultyDriver faulty(NodeLife life, String fault) {
    return FaultyDriver.start(
        life.type(),
        NodeLife.CLUSTER,
        fault,
        "--node-folder=" + life.driver.folder().resolve("node"));
  }

  private static NodeClient client(NodeLife life, FaultyDriver driver) {
    return new NodeClient(driver.channel(), life.driver.secrets(), life.driver.folder());
  }

  private static void leadAgain(NodeLife life, NodeClient node, String what) {
    NodeLife.inTime(
        () -> {
          try {
            life.lead(node);
          } catch (IOException e) {
            throw new AssertionError(what, e);
          }
        });
    assertThat(node.leftovers()).as(what).isEmpty();
    assertThat(node.files("staging")).as(what).isEmpty();
    assertThat(node.files("node")).as(what).isEmpty();
    life.cleanUp();
  }

  @ParameterizedTest
  @CsvSource({"rbd,15", "cephfs,14"})
  void aLifeWhoseServersWereKilledAtAnyStepIsLedAgain(String type, int steps) throws Exception {
    try (NodeLife life = NodeLife.of(type)) {
      atSteps(steps, 1, step -> isBereft(life, step));
    }
  }

  private static boolean isBereft(NodeLife life, String fault) throws Exception {
    life.prepare();
    Path folder = life.driver.folder();
    try (FaultyDriver faulty = faulty(life, fault + ",calls-," + folder);
        NodeClient node = client(life, faulty)) {
      try {
        life.lead(node);
      } catch (StatusRuntimeException | IOException | UncheckedIOException e) {
        assertThat(folder.resolve(FaultPoint.STRUCK)).as(fault + ": " + e.getMessage()).exists();
      }
      boolean struck = Files.deleteIfExists(folder.resolve(FaultPoint.STRUCK));
      life.forgetDead(node);
      leadAgain(life, node, fault + " of the servers");
      return struck;
    }
  }
}
