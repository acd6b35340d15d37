package io.cephcsi.driver.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.ServedProcess;
import io.cephcsi.driver.testing.TestDriver;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a crash of the program as it is delivered leaves. */
class CoreLimitIT extends ServedCase {
  /** As a machine that collects core files starts it. */
  private static final List<String> WITH_CORE_FILES =
      List.of("sh", "-c", "ulimit -c unlimited && exec \"$@\"", "sh");

  private ServedProcess startWith(String... variables) throws IOException {
    List<String> starter = new ArrayList<>(WITH_CORE_FILES);
    starter.add("env");
    starter.addAll(List.of(variables));
    return ServedProcess.startBy(
        starter,
        folder,
        "--type=rbd",
        "--nodeid=node-1",
        "--controllerserver=true",
        "--endpoint=unix://" + socket,
        "--clusters-file=" + TestDriver.clustersFile(CLUSTER, folder));
  }

  private String limit(ServedProcess process) throws IOException {
    process.awaitServing(socket);
    try (var lines = Files.lines(Path.of("/proc/" + process.pid() + "/limits"))) {
      return lines
          .filter(line -> line.startsWith("Max core file size"))
          .findFirst()
          .orElseThrow()
          .replaceAll(" +", " ")
          .strip();
    }
  }

  @Test
  void noCoreFileHasItsSecrets() throws IOException {
    try (ServedProcess process = startWith()) {
      assertThat(limit(process)).isEqualTo("Max core file size 0 0 bytes");
    }
  }

  @Test
  void anOperatorMayWantOne() throws IOException {
    try (ServedProcess process = startWith("CEPH_CSI_CORE=unlimited")) {
      assertThat(limit(process)).isEqualTo("Max core file size unlimited unlimited bytes");
    }
  }

  @Test
  void anotherLimitIsRefused() throws IOException {
    try (ServedProcess process = startWith("CEPH_CSI_CORE=all")) {
      assertThat(process.awaitExit(Duration.ofSeconds(30))).isEqualTo(2);
      assertThat(process.output()).contains("CEPH_CSI_CORE must be");
    }
  }
}
