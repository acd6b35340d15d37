package io.cephcsi.driver.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.testing.Commands;
import io.cephcsi.testing.LocalCluster;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The archive of classes that the build makes, with which the program starts faster. */
class ClassArchiveIT {
  private static final Path DISTRIBUTION = LocalCluster.root().resolve("driver/target/ceph-csi");

  @TempDir private Path folder;

  private String loaded(Path distribution) throws IOException {
    Path log = folder.resolve("classes.log");
    String said =
        Commands.run(
            List.of(
                "env",
                "CEPH_CSI_JAVA_OPTS=-Xlog:class+load:file=" + log,
                distribution.resolve("bin/ceph-csi").toString(),
                "--version"));
    assertThat(said.strip()).startsWith("ceph-csi-java ").hasLineCount(1);
    return Files.readString(log);
  }

  @Test
  void theProgramStartsFromTheArchive() throws IOException {
    assertThat(loaded(DISTRIBUTION))
        .contains("io.cephcsi.driver.cli.DriverMain source: shared objects file (top)");
  }

  @Test
  void theProgramStartsWithoutAnArchiveOrWithASpoiltOne() throws IOException {
    Commands.run(List.of("cp", "-a", DISTRIBUTION.toString(), folder.toString()));
    Path copy = folder.resolve(DISTRIBUTION.getFileName());
    Path archive = copy.resolve("lib/ceph-csi.jsa");
    Files.delete(archive);
    assertThat(loaded(copy)).doesNotContain("DriverMain source: shared objects file");
    Files.writeString(archive, "not an archive");
    assertThat(loaded(copy)).doesNotContain("DriverMain source: shared objects file");
    Commands.run(List.of(copy.resolve("bin/ceph-csi-archive").toString()));
    assertThat(loaded(copy)).contains("DriverMain source: shared objects file (top)");
  }

  /** Of such a folder Java takes its own classes from the archive, and none of the program's. */
  @Test
  void theFolderMayHaveBlanks() throws IOException {
    Path blank = Files.createDirectory(folder.resolve("a b"));
    Commands.run(List.of("cp", "-a", DISTRIBUTION.toString(), blank.toString()));
    Path copy = blank.resolve(DISTRIBUTION.getFileName());
    assertThat(loaded(copy)).doesNotContain("source: shared objects file (top)"); // moved
    Commands.run(List.of(copy.resolve("bin/ceph-csi-archive").toString()));
    assertThat(loaded(copy)).contains("source: shared objects file (top)");
  }
}
