package io.cephcsi.driver.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.testing.ServedProcess;
import io.cephcsi.testing.Commands;
import io.cephcsi.testing.LocalCluster;
import io.cephcsi.testing.Recorded;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;

/** CEPH_CSI_PROFILE of the program as it is delivered. */
class ProfileIT extends ServedCase {
  private static final String PROGRAM =
      LocalCluster.root().resolve("driver/target/ceph-csi/bin/ceph-csi").toString();

  private static String run(String profile, String... args) {
    List<String> command = new ArrayList<>(List.of("env", "CEPH_CSI_PROFILE=" + profile, PROGRAM));
    command.addAll(List.of(args));
    return Commands.run(command);
  }

  @Test
  void aCommandIsRecordedAndPrintsWhatItAlwaysPrints() throws IOException {
    Path file = folder.resolve("a profile.jfr");
    String usage = "--conf=" + CLUSTER.conf();
    String pool = "--pool=" + CLUSTER.otherPool();
    CLUSTER.rbd("create", "--size=8M", CLUSTER.otherPool() + "/profiled");
    try {
      String said = run(file.toString(), "usage", usage, pool, "--output=json");
      assertThat(said).isEqualTo(run("", "usage", usage, pool, "--output=json"));
      assertThat(Recorded.of(Recorded.of(file), "RadosOperation")).isNotEmpty();
      assertThat(RecordingFile.readAllEvents(file))
          .extracting(event -> event.getEventType().getName())
          .contains("jdk.JVMInformation")
          .doesNotContain(
              "jdk.InitialEnvironmentVariable",
              "jdk.InitialSystemProperty",
              "jdk.InitialSecurityProperty",
              "jdk.SystemProcess");
      run(file.toString(), "usage", usage, pool, "--output=json"); // the file is replaced
      assertThat(Recorded.of(file)).isNotEmpty();
    } finally {
      CLUSTER.rbd("rm", CLUSTER.otherPool() + "/profiled");
    }
  }

  @Test
  void aDriverIsRecordedUntilSigterm() throws IOException {
    Path file = folder.resolve("driver.jfr");
    try (ServedProcess process =
        ServedProcess.startBy(
            List.of("env", "CEPH_CSI_PROFILE=" + file),
            folder,
            "--type=rbd",
            "--nodeid=node-1",
            "--controllerserver=true",
            "--endpoint=unix://" + socket,
            "--clusters-file="
                + io.cephcsi.driver.testing.TestDriver.clustersFile(CLUSTER, folder))) {
      createAndDelete(process.awaitReady(socket));
      assertThat(process.output()).doesNotContain("jfr,startup");
      process.terminate();
      process.awaitExit(Duration.ofSeconds(60));
    }
    List<RecordedEvent> events = Recorded.of(file);
    assertThat(Recorded.of(events, "Rpc"))
        .extracting(event -> event.getString("method") + " " + event.getString("status"))
        .contains("csi.v1.Controller/CreateVolume OK", "csi.v1.Controller/DeleteVolume OK");
    assertThat(Recorded.of(events, "RadosOperation"))
        .extracting(event -> event.getString("pool"))
        .contains(CLUSTER.pool());
    assertThat(Files.readString(file, java.nio.charset.StandardCharsets.ISO_8859_1))
        .doesNotContain(CLUSTER.key(CLUSTER.rbdUser()));
  }

  @Test
  void aNameThatTheFlightRecorderWouldTakeApartIsRefused() {
    for (String name : List.of("a,filename=b", "a\"b", "a'b")) {
      assertThatThrownBy(() -> run(folder.resolve(name).toString(), "--version"))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("failed with 2")
          .hasMessageContaining("CEPH_CSI_PROFILE must have no comma and no quotes");
    }
    assertThatThrownBy(() -> run(folder.resolve("absent/a.jfr").toString(), "--version"))
        .isInstanceOf(IllegalStateException.class);
    assertThat(folder).isEmptyDirectory();
  }
}
