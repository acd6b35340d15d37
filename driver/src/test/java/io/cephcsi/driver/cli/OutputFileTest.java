package io.cephcsi.driver.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.app.ConfigException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class OutputFileTest {
  @TempDir private Path folder;

  private List<String> names() throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.map(file -> String.valueOf(file.getFileName())).toList();
    }
  }

  @Test
  void aFileIsReplacedAndCanBeReadByAll() throws IOException {
    Path file = folder.resolve("report");
    OutputFile.replace(file, "old");
    OutputFile.replace(file, "new");
    assertThat(file).hasContent("new");
    assertThat(Files.getPosixFilePermissions(file))
        .isEqualTo(PosixFilePermissions.fromString("rw-r--r--"));
    assertThat(names()).containsExactly("report");
  }

  @Test
  void nothingStaysOfWhatCannotBeWritten() throws IOException {
    Path file = Files.createDirectories(folder.resolve("report/full")).getParent();
    assertThatThrownBy(() -> OutputFile.replace(file, "new"))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("report cannot be written");
    assertThat(names()).containsExactly("report");
  }
}
