package io.cephcsi.driver.node.attach;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.node.attach.NbdLog.Strategy;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.Map;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Logs of rbd-nbd, which others may not divert. */
class NbdLogsTest {
  @TempDir private Path temporary;
  private Path own;
  private Path kept;
  private NbdLogs logs;

  @BeforeEach
  void folders() throws IOException {
    temporary = temporary.toRealPath();
    own = temporary.resolve("own");
    kept = Files.createDirectory(temporary.resolve("kept"));
    logs = new NbdLogs(own, Clock.fixed(Instant.parse("2026-11-25T02:03:04Z"), ZoneOffset.UTC));
  }

  private NbdLog log(Strategy strategy) {
    return new NbdLog(kept, strategy);
  }

  private void write(Strategy strategy) throws IOException {
    Files.writeString(logs.begin("volume", log(strategy)), "said");
  }

  @Test
  void theFolderIsForRootAlone() throws IOException {
    write(Strategy.REMOVE);
    assertThat(Files.getPosixFilePermissions(own))
        .isEqualTo(PosixFilePermissions.fromString("rwx------"));
    logs.end("volume", log(Strategy.REMOVE));
    assertThat(own).doesNotExist();
    assertThat(kept).isEmptyDirectory();
  }

  @Test
  void theNameOfALogFitsAFileHoweverLongThatOfTheVolumeIs() throws IOException {
    String longest = "v".repeat(255);
    for (int i = 0; i < 2; i++) { // the second has the time in its name
      Files.writeString(logs.begin(longest, log(Strategy.COMPRESS)), "said");
      logs.end(longest, log(Strategy.COMPRESS));
    }
    assertThat(own).doesNotExist();
    assertThat(kept).isDirectoryContaining("glob:**.log.gz");
    try (var files = Files.list(kept)) {
      assertThat(files).hasSize(2);
    }
    String fits = "v".repeat(223);
    assertThat(logs.begin(fits, log(Strategy.REMOVE)).getFileName())
        .hasToString("rbd-nbd-" + fits + ".log");
    logs.end(fits, log(Strategy.REMOVE));
  }

  @Test
  void aLogIsKeptUnderTheNameThatCephCsiGivesIt() throws IOException {
    write(Strategy.PRESERVE);
    logs.end("volume", log(Strategy.PRESERVE));
    assertThat(kept.resolve("rbd-nbd-volume.log")).hasContent("said");
    write(Strategy.COMPRESS);
    logs.end("volume", log(Strategy.COMPRESS));
    try (InputStream in =
        new GZIPInputStream(Files.newInputStream(kept.resolve("rbd-nbd-volume.log.gz")))) {
      assertThat(new String(in.readAllBytes(), StandardCharsets.UTF_8)).isEqualTo("said");
    }
    assertThat(own).doesNotExist();
  }

  @Test
  void whatHasTheNameAlreadyIsNotWrittenTo() throws IOException {
    Path victim = Files.writeString(temporary.resolve("victim"), "untouched");
    Files.createSymbolicLink(kept.resolve("rbd-nbd-volume.log"), victim);
    write(Strategy.PRESERVE);
    logs.end("volume", log(Strategy.PRESERVE));
    assertThat(victim).hasContent("untouched");
    assertThat(kept.resolve("rbd-nbd-volume-20261125T020304Z.log")).hasContent("said");
  }

  @Test
  void aLinkInsteadOfTheFolderIsNotFollowed() throws IOException {
    write(Strategy.PRESERVE);
    Path elsewhere = Files.createDirectory(temporary.resolve("elsewhere"));
    Files.delete(kept);
    Files.createSymbolicLink(kept, elsewhere);
    logs.end("volume", log(Strategy.PRESERVE));
    assertThat(elsewhere).isEmptyDirectory();
    assertThat(own.resolve("rbd-nbd-volume.log")).hasContent("said");
    assertThatThrownBy(() -> logs.begin("volume", log(Strategy.PRESERVE)))
        .isInstanceOfSatisfying(
            VolumeException.class,
            e -> assertThat(e.reason()).isEqualTo(Reason.FAILED_PRECONDITION));
  }

  @Test
  void whoSaysNothingGetsNoLog() {
    assertThat(NbdLog.of(Map.of())).isEmpty();
    assertThat(NbdLog.of(Map.of("cephLogDir", "/var/log/rbd")))
        .contains(new NbdLog(Path.of("/var/log/rbd"), Strategy.REMOVE));
    assertThat(NbdLog.of(Map.of("cephLogStrategy", "preserve")))
        .contains(new NbdLog(Path.of("/var/log/ceph"), Strategy.PRESERVE));
    logs.end("volume", log(Strategy.PRESERVE));
    assertThat(kept).isEmptyDirectory();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"/etc", "/var/log/../../etc", "/var/logs", "log", "/var/log/a\nb", "/var/log/\0"})
  void otherFoldersAreInvalid(String text) {
    assertThatThrownBy(() -> NbdLog.of(Map.of("cephLogDir", text)))
        .hasMessageContaining("cephLogDir")
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.INVALID_ARGUMENT));
    assertThatThrownBy(() -> NbdLog.of(Map.of("cephLogStrategy", text)))
        .hasMessageContaining("cephLogStrategy");
  }
}
