package io.cephcsi.driver.node.machine;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Processes are known by their command lines, and have ended when they run no more. */
class ProcessesTest {
  private static final String PROGRAM = "a-program-of-this-test";
  private static final Duration LONG = Duration.ofMinutes(2);

  @TempDir Path folder;

  /** Its parent is a program that asks nobody for an exit code, as the first of a container. */
  @Test
  void oneThatNobodyReapedHasEnded() throws Exception {
    String file = Files.createFile(folder.resolve("served")).toString();
    Predicate<List<String>> ours = words -> words.contains(file);
    String script = "(exec -a /sbin/" + PROGRAM + " tail -f \"$0\") & exec sleep 600";
    Process parent = new ProcessBuilder("bash", "-c", script, file).start();
    try {
      Awaitility.await().atMost(LONG).until(() -> Processes.of(PROGRAM, ours).size() == 1);
      Path process = Processes.find(PROGRAM, ours).orElseThrow();
      assertThat(Processes.commandLine(process)).contains(file);
      assertThat(Processes.of("program-of-this-test", ours)).isEmpty();
      assertThat(Processes.of(PROGRAM, words -> words.contains("another"))).isEmpty();

      CompletableFuture<Boolean> ended =
          CompletableFuture.supplyAsync(() -> Processes.awaitEnd(PROGRAM, ours, LONG));
      Awaitility.await().atMost(LONG).during(Duration.ofMillis(300)).until(() -> !ended.isDone());
      handle(process).destroyForcibly();
      assertThat(ended.get(LONG.toSeconds(), TimeUnit.SECONDS)).isTrue();
      assertThat(Processes.find(PROGRAM, ours)).isEmpty();
      Awaitility.await().atMost(LONG).until(() -> state(process).equals("Z"));
      assertThat(Processes.commandLine(process)).isEmpty();
    } finally {
      parent.descendants().forEach(ProcessHandle::destroyForcibly);
      parent.destroyForcibly().waitFor();
    }
  }

  /** A pod sees its own processes only, and may call them what it likes. */
  @Test
  void whatRunsInAContainerIsNotOursWhateverItIsCalled() throws Exception {
    String file = Files.createFile(folder.resolve("served")).toString();
    Predicate<List<String>> ours = words -> words.contains(file);
    String script = "exec -a " + PROGRAM + " tail -f \"$0\"";
    Process parent =
        new ProcessBuilder(
                "unshare",
                "--pid",
                "--fork",
                "--kill-child",
                "--mount-proc",
                "bash",
                "-c",
                script,
                file)
            .start();
    try {
      Awaitility.await().atMost(LONG).until(() -> parent.children().anyMatch(this::isCalledSo));
      Path process =
          Path.of("/proc", String.valueOf(parent.children().findAny().orElseThrow().pid()));
      assertThat(Processes.commandLine(process)).contains(file);
      assertThat(Processes.isOurs(process)).isFalse();
      assertThat(Processes.of(PROGRAM, ours)).isEmpty();
      assertThat(Processes.find(PROGRAM, ours)).isEmpty();
      assertThat(Processes.awaitEnd(PROGRAM, ours, Duration.ZERO)).isTrue();
    } finally {
      parent.destroyForcibly().waitFor();
    }
  }

  @Test
  void whatAnotherUserRunsIsNotOurs() throws Exception {
    Process other = new ProcessBuilder("setpriv", "--reuid=65534", "sleep", "600").start();
    try {
      Path process = Path.of("/proc", String.valueOf(other.pid()));
      Awaitility.await()
          .atMost(LONG)
          .until(() -> Processes.commandLine(process).equals(List.of("sleep", "600", "")));
      assertThat(Processes.isOurs(process)).isFalse();
    } finally {
      other.destroyForcibly().waitFor();
    }
    assertThat(Processes.isOurs(Path.of("/proc/self"))).isTrue();
  }

  private boolean isCalledSo(ProcessHandle process) {
    return Processes.commandLine(Path.of("/proc", String.valueOf(process.pid()))).contains(PROGRAM);
  }

  private static ProcessHandle handle(Path process) {
    return ProcessHandle.of(Long.parseLong(process.getFileName().toString())).orElseThrow();
  }

  private static String state(Path process) throws IOException {
    String stat = Files.readString(process.resolve("stat"));
    return stat.substring(stat.lastIndexOf(')') + 2).substring(0, 1);
  }
}
