package io.cephcsi.driver.node.machine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CommandTest {
  @Test
  void argumentsReachTheProgramAsTheyAre() {
    assertThat(Command.of("printf", "%s|", "a b", "$HOME;`id`", "*").run())
        .isEqualTo("a b|$HOME;`id`|*|");
  }

  @Test
  void theInputReachesTheProgramAndNoMessage() {
    assertThat(Command.of("cat").input("s3cret").run()).isEqualTo("s3cret");
    assertThatThrownBy(() -> Command.of("false").input("s3cret").run())
        .isInstanceOf(CommandException.class)
        .hasMessageNotContaining("s3cret");
  }

  @Test
  void aFailureSaysTheExitCodeAndWhatWasSaid() {
    assertThatThrownBy(() -> Command.of("ls", "/no/such/folder").run())
        .isInstanceOf(CommandException.class)
        .hasMessageContaining("ls /no/such/folder ended with exit code 2")
        .hasMessageContaining("No such file or directory");
    assertThat(Command.of("ls", "/no/such/folder").exitsWith(0, 2).exitCode()).isEqualTo(2);
  }

  @Test
  void aMissingProgramIsNamed() {
    assertThatThrownBy(() -> Command.of("no-such-program").run())
        .isInstanceOf(CommandException.class)
        .hasMessage("no-such-program is not installed on this node");
  }

  @Test
  void aProgramIsKilledAtItsDeadlineWithWhatItStarted() throws Exception {
    Path pid = Files.createTempFile("command", ".pid");
    Command command =
        Command.of("bash", "-c")
            .with(Argument.of("script", "sleep 1000 & echo $! >" + pid + "; wait"))
            .within(Duration.ofSeconds(2));
    assertThatThrownBy(command::run)
        .isInstanceOfSatisfying(CommandException.class, e -> assertThat(e.timedOut()).isTrue())
        .hasMessageContaining("did not end within 2 s");
    long child = Long.parseLong(Files.readString(pid).strip());
    await()
        .atMost(Duration.ofSeconds(10))
        .until(() -> ProcessHandle.of(child).filter(ProcessHandle::isAlive).isEmpty());
    Files.delete(pid);
  }

  @Test
  void outputWithoutEndIsBoundedAndDoesNotStopTheProgram() {
    String output = Command.of("head", "-c", "3000000", "/dev/zero").run();
    assertThat(output).hasSize(256 << 10);
  }

  @Test
  void aDaemonThatIsLeftBehindIsNotWaitedFor() {
    String output =
        Command.of("bash", "-c", "echo started; sleep 30 & disown")
            .within(Duration.ofSeconds(20))
            .run();
    assertThat(output).isEqualTo("started\n");
  }

  @Test
  void aSecretFileIsForThisUserOnlyAndGoesAway(@TempDir Path own) throws Exception {
    Path folder = SecretFile.folder(own.resolve("not/yet"));
    assertThat(Files.getFileStore(folder.getParent()).type()).isEqualTo("tmpfs");
    try {
      Path path;
      try (SecretFile file = SecretFile.of(folder, "image", "key")) {
        path = file.path();
        assertThat(path).hasContent("key");
        assertThat(Files.getPosixFilePermissions(path)).hasSize(2);
        assertThat(Files.getPosixFilePermissions(folder)).hasSize(3);
      }
      assertThat(path).doesNotExist();
      SecretFile left = SecretFile.of(folder, "image", "of one that was killed");
      try (SecretFile file = SecretFile.of(folder, "image", "new")) {
        assertThat(file.path()).isEqualTo(left.path()).hasContent("new");
      }
      left = SecretFile.of(folder, "image", "of one that was killed");
      SecretFile.clear(folder);
      assertThat(left.path()).doesNotExist();
      SecretFile.Content cutOff =
          file -> {
            file.write(ByteBuffer.wrap(new byte[1]));
            throw new IllegalStateException("not read");
          };
      assertThatThrownBy(() -> SecretFile.of(folder, "image", cutOff)).hasMessage("not read");
      assertThat(folder).isEmptyDirectory();
      Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxrwxrwx"));
      assertThatThrownBy(() -> SecretFile.of(folder, "image", "key")).hasMessageContaining("alone");
    } finally {
      Files.deleteIfExists(folder);
    }
  }

  @Test
  void aNetworkNamespaceIsEnteredByAProgramOfItsOwn() {
    assertThat(Command.of("echo", "a").inNetwork("/net/ns").with("b"))
        .hasToString("nsenter --net=/net/ns -- echo a b");
    assertThat(Command.of("echo", "a").inNetwork("")).hasToString("echo a");
    assertThat(Command.of("readlink", "/proc/self/ns/net").inNetwork("/proc/self/ns/net").run())
        .isEqualTo(Command.of("readlink", "/proc/self/ns/net").run());
    assertThat(Command.of("true").inNetwork("/no/such/file").tryRun().exitCode()).isNotZero();
  }
}
