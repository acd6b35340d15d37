package io.cephcsi.driver.node;

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

  private static ProcessHandle handle(Path process) {
    return ProcessHandle.of(Long.parseLong(process.getFileName().toString())).orElseThrow();
  }

  private static String state(Path process) throws IOException {
    String stat = Files.readString(process.resolve("stat"));
    return stat.substring(stat.lastIndexOf(')') + 2).substring(0, 1);
  }
}
