package io.cephcsi.driver.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.testing.ServedProcess;
import io.cephcsi.testing.ChildJvm;
import io.cephcsi.testing.Commands;
import io.cephcsi.testing.LocalCluster;
import io.cephcsi.testing.Recorded;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import jdk.jfr.Event;
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
      byte[] first = Files.readAllBytes(file);
      assertThat(run(file.toString(), "usage", usage, pool, "--output=json")).isEqualTo(said);
      assertThat(file).hasBinaryContent(first);
      List<Path> others = files().stream().filter(other -> !other.equals(file)).toList();
      assertThat(others).hasSize(1);
      assertThat(others.get(0).getFileName().toString()).matches("a profile\\.[0-9]+\\.jfr");
      assertThat(Recorded.of(Recorded.of(others.get(0)), "RadosOperation")).isNotEmpty();
    } finally {
      CLUSTER.rbd("rm", CLUSTER.otherPool() + "/profiled");
    }
  }

  private List<Path> files() throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.toList();
    }
  }

  /** In a pod, commands have the environment of the driver. */
  @Test
  void aDriverIsRecordedUntilSigterm() throws IOException {
    Path file = Files.writeString(folder.resolve("driver.jfr"), "of the container before");
    Path before = folder.resolve("driver.jfr.before");
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
      assertThat(before).hasContent("of the container before");
      for (int i = 0; i < 2; i++) {
        assertThat(run(file.toString(), "--version")).contains("ceph-csi");
      }
      process.terminate();
      process.awaitExit(Duration.ofSeconds(60));
    }
    assertThat(before).hasContent("of the container before");
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

  /** An event of a program. */
  static final class Noted extends Event {
    @SuppressWarnings("UnusedVariable") // it is recorded
    private final String text = "an event that takes some room in the recording";
  }

  /** A program that is recorded, and waits for its end as the driver does. */
  static final class Recorder {
    private Recorder() {}

    /** Makes as many events as the argument says. */
    public static void main(String... arguments) throws InterruptedException {
      for (int i = 0; i < Integer.parseInt(arguments[0]); i++) {
        new Noted().commit();
      }
      Thread main = Thread.currentThread();
      new Thread(
              () -> {
                while (main.getState() != Thread.State.WAITING) {
                  Thread.onSpinWait();
                }
                System.out.println("ready");
              })
          .start();
      ServeCommand.awaitSignal(() -> {});
    }
  }

  /** The flight recorder writes its file beside what ends the process. */
  @Test
  void aLargeRecordingIsWrittenWholeBeforeTheProcessEnds() throws Exception {
    int events = 2_000_000;
    Path file = folder.resolve("large.jfr");
    Path temporary = Files.createDirectory(folder.resolve("tmp"));
    Process process =
        new ProcessBuilder(
                ChildJvm.java(),
                "-Djava.io.tmpdir=" + temporary,
                "-XX:StartFlightRecording=filename=" + file + ",dumponexit=true,maxsize=256m",
                "-XX:FlightRecorderOptions=repository=" + temporary,
                "-cp",
                ChildJvm.classPath(),
                Recorder.class.getName(),
                Integer.toString(events))
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    try (BufferedReader said = process.inputReader()) {
      assertThat(said.lines().anyMatch("ready"::equals)).isTrue();
      process.destroy();
      assertThat(process.waitFor(1, TimeUnit.MINUTES)).isTrue();
    } finally {
      process.destroyForcibly();
    }
    assertThat(process.exitValue()).isZero();
    int found = 0;
    try (RecordingFile recording = new RecordingFile(file)) {
      while (recording.hasMoreEvents()) {
        found +=
            recording.readEvent().getEventType().getName().equals(Noted.class.getName()) ? 1 : 0;
      }
    }
    assertThat(found).isEqualTo(events);
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
