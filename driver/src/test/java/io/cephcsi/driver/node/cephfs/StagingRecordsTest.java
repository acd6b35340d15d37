package io.cephcsi.driver.node.cephfs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A record is there whole, or as it was. */
class StagingRecordsTest {
  private static final Path PATH = Path.of("/a/globalmount");

  @TempDir private Path folder;

  private Path onlyFile() throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.reduce((one, other) -> Path.of("several")).orElseThrow();
    }
  }

  @Test
  void whatIsWrittenIsFoundAndForgotten() throws IOException {
    StagingRecords records = new StagingRecords(folder);
    records.put("v", PATH);
    assertThat(records.find("v")).contains(PATH);
    assertThat(records.has(PATH)).isTrue();
    records.remove("v", Path.of("/elsewhere"));
    assertThat(records.find("v")).contains(PATH);
    records.put("v", Path.of("/b"));
    assertThat(records.find("v")).contains(Path.of("/b"));
    assertThat(onlyFile()).hasContent("/b");
    records.remove("v", Path.of("/b"));
    assertThat(folder).isEmptyDirectory();
  }

  @Test
  void aRecordThatSaysTheSameIsNotWrittenAgain() throws IOException {
    StagingRecords records = new StagingRecords(folder);
    records.put("v", PATH);
    Object before = Files.getAttribute(onlyFile(), "unix:ino");
    records.put("v", PATH);
    assertThat(Files.getAttribute(onlyFile(), "unix:ino")).isEqualTo(before);
  }

  @Test
  void anEmptyFileIsNoRecordAndGoes() throws IOException {
    StagingRecords records = new StagingRecords(folder);
    records.put("v", PATH);
    Files.writeString(onlyFile(), "");
    assertThat(records.find("v")).isEmpty();
    assertThat(records.has(PATH)).isFalse();
    records.remove("v", PATH);
    assertThat(folder).isEmptyDirectory();
  }

  /** A process that was stopped between its write and the rename has staged nothing yet. */
  @Test
  void whatIsNotInItsPlaceYetCountsForNothing() throws IOException {
    StagingRecords records = new StagingRecords(folder);
    records.put("v", PATH);
    Path file = onlyFile();
    Files.move(file, file.resolveSibling(file.getFileName() + ".new"));
    assertThat(records.find("v")).isEmpty();
    assertThat(records.has(PATH)).isFalse();
    records.put("v", PATH);
    assertThat(records.find("v")).contains(PATH);
    assertThat(onlyFile()).exists();
  }
}
