package io.cephcsi.benchmarks;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;

/**
 * A program to compare with that stays connected: it is told by lines what to do how often, and
 * answers each with the nanoseconds that it took.
 */
final class BaselineServer implements AutoCloseable {
  private final Process process;
  private final PrintWriter commands;
  private final BufferedReader answers;

  private BaselineServer(Process process) {
    this.process = process;
    this.commands = new PrintWriter(process.outputWriter(UTF_8), true);
    this.answers = process.inputReader(UTF_8);
  }

  static BaselineServer start(String... command) {
    try {
      return new BaselineServer(
          new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Has so many operations done, and tells how many nanoseconds they took. */
  long nanos(String what, int count) {
    commands.println(what + " " + count);
    try {
      String answer = answers.readLine();
      if (answer == null) {
        throw new IllegalStateException("the C program ended");
      }
      return Long.parseLong(answer);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() {
    commands.close();
    try {
      process.waitFor();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
