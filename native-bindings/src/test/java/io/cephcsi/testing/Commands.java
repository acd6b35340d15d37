package io.cephcsi.testing;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs programs for tests. */
public final class Commands {
  private static final long TIMEOUT_SECONDS = 180;

  private Commands() {}

  static List<String> with(String program, String option, String value, String... args) {
    List<String> command = new ArrayList<>(List.of(program, option, value));
    command.addAll(List.of(args));
    return command;
  }

  /**
   * Runs a program to its end.
   *
   * @return what it printed to stdout
   * @throws IllegalStateException with its stderr if it fails
   */
  public static String run(List<String> command) {
    try {
      Path out = Files.createTempFile("command", ".out");
      Path err = Files.createTempFile("command", ".err");
      try {
        Process process =
            new ProcessBuilder(command)
                .redirectInput(ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
                .redirectOutput(out.toFile())
                .redirectError(err.toFile())
                .start();
        if (!process.waitFor(TIMEOUT_SECONDS, TimeUnit.SECONDS)) {
          process.destroyForcibly();
          throw new IllegalStateException(command + " did not end in " + TIMEOUT_SECONDS + " s");
        }
        if (process.exitValue() != 0) {
          throw new IllegalStateException(
              command + " failed with " + process.exitValue() + ": " + Files.readString(err));
        }
        return Files.readString(out, StandardCharsets.UTF_8);
      } finally {
        Files.delete(out);
        Files.delete(err);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new UncheckedIOException(new InterruptedIOException(command.toString()));
    }
  }
}
