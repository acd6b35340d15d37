package io.cephcsi.benchmarks;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Programs to compare with, and the numbers that come out. */
final class Baseline {
  private Baseline() {}

  /**
   * Runs a program to its end.
   *
   * @return the last number of its last line
   */
  static double run(String... command) throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (process.waitFor() != 0) {
      throw new IOException(List.of(command) + " failed with " + process.exitValue());
    }
    String[] words = said.strip().split("\\s+", -1);
    return words.length == 1 && words[0].isEmpty()
        ? 0
        : Double.parseDouble(words[words.length - 1]);
  }

  /** Milliseconds that some work takes. */
  static double millis(Work work) throws IOException, InterruptedException {
    long start = System.nanoTime();
    work.run();
    return (System.nanoTime() - start) / 1e6;
  }

  /** Work that is timed. */
  @FunctionalInterface
  interface Work {
    void run() throws IOException, InterruptedException;
  }
}
