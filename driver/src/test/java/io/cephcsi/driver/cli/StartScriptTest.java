package io.cephcsi.driver.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.testing.Commands;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the script that starts the program has the JVM record: a java that prints its options. */
class StartScriptTest {
  private static final String RECORDING = "-XX:StartFlightRecording=";

  @TempDir private Path folder;
  private Path file = Path.of("");

  @BeforeEach
  void makeJava() throws IOException {
    Path java = Files.createDirectories(folder.resolve("jdk/bin")).resolve("java");
    Files.writeString(java, "#!/bin/sh\nprintf '%s\\n' \"$@\"\n");
    Files.setPosixFilePermissions(java, PosixFilePermissions.fromString("rwxr-xr-x"));
    file = Files.createDirectory(folder.resolve("work")).resolve("a profile.jfr");
  }

  /** The name of the file that is recorded to. */
  private String recorded(String arguments) {
    List<String> command =
        new ArrayList<>(
            List.of(
                "env",
                "JAVA_HOME=" + folder.resolve("jdk"),
                "CEPH_CSI_PROFILE=" + file,
                "sh",
                "src/main/dist/bin/ceph-csi"));
    command.addAll(List.of(arguments.split(" ", -1)));
    String option =
        Commands.run(command)
            .lines()
            .filter(line -> line.startsWith(RECORDING))
            .findFirst()
            .orElseThrow();
    Path name = Path.of(option.replaceAll(".*,filename=([^,]*),.*", "$1"));
    assertThat(name.getParent()).isEqualTo(file.getParent());
    return name.getFileName().toString();
  }

  private List<String> files() throws IOException {
    try (Stream<Path> files = Files.list(file.getParent())) {
      return files.map(each -> each.getFileName().toString()).sorted().toList();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"serve --type=rbd", "--type=rbd --nodeid=one", "-type rbd"})
  void aDriverKeepsTheRecordingBefore(String arguments) throws IOException {
    assertThat(recorded(arguments)).isEqualTo("a profile.jfr");
    assertThat(files()).isEmpty();
    Files.writeString(file, "the one before");
    assertThat(recorded(arguments)).isEqualTo("a profile.jfr");
    assertThat(files()).containsExactly("a profile.jfr.before");
    Files.createFile(file); // by a JVM that was killed
    assertThat(recorded(arguments)).isEqualTo("a profile.jfr");
    assertThat(file.resolveSibling("a profile.jfr.before")).hasContent("the one before");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"call probe --help", "reclaim rbd/vm-1", "--version", "-h", "serve --help"})
  void anotherCommandLeavesTheRecordingsOfADriver(String arguments) throws IOException {
    Files.writeString(file.resolveSibling("a profile.jfr.before"), "the one before");
    assertThat(recorded(arguments)).isEqualTo("a profile.jfr");
    Files.createFile(file); // by the driver, which writes it when it ends
    assertThat(recorded(arguments)).matches("a profile\\.[0-9]+\\.jfr");
    Files.writeString(file, "of a driver that has ended");
    assertThat(recorded(arguments)).matches("a profile\\.[0-9]+\\.jfr");
    assertThat(files()).containsExactly("a profile.jfr", "a profile.jfr.before");
    assertThat(file).hasContent("of a driver that has ended");
    assertThat(file.resolveSibling("a profile.jfr.before")).hasContent("the one before");
  }
}
