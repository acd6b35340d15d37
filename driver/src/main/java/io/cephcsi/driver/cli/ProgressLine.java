package io.cephcsi.driver.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** Shows on a terminal how far the work is, in one line that is written over. */
final class ProgressLine implements AutoCloseable {
  private static final int BAR = 30;
  private static final String CLEAR = "\r\u001b[K";
  private static final long INTERVAL_MILLIS = 200;

  private final Supplier<Optional<String>> line;
  private final PrintWriter out;
  private final CountDownLatch ended = new CountDownLatch(1);
  private final Thread thread = new Thread(this::show, "progress");

  private ProgressLine(Supplier<Optional<String>> line, PrintWriter out) {
    this.line = line;
    this.out = out;
    thread.setDaemon(true);
  }

  /**
   * Starts showing, if stderr is a terminal.
   *
   * @param line what to show now, if anything; asked on a thread of its own
   * @param err writes to stderr
   */
  static ProgressLine start(Supplier<Optional<String>> line, PrintWriter err) {
    ProgressLine progress = new ProgressLine(line, err);
    String term = System.getenv("TERM");
    if (isTerminal(Path.of("/proc/self/fd/2")) && term != null && !term.equals("dumb")) {
      progress.thread.start();
    }
    return progress;
  }

  private static boolean isTerminal(Path descriptor) {
    try {
      String device = Files.readSymbolicLink(descriptor).toString();
      return device.startsWith("/dev/pts/") || device.startsWith("/dev/tty");
    } catch (IOException e) {
      return false;
    }
  }

  private void show() {
    try {
      while (!ended.await(INTERVAL_MILLIS, TimeUnit.MILLISECONDS)) {
        line.get()
            .ifPresent(
                text -> {
                  out.print(CLEAR + text);
                  out.flush();
                });
      }
      out.print(CLEAR);
      out.flush();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** A text with a bar behind it. */
  static String bar(String text, double percent) {
    int full = (int) (percent * BAR / 100);
    return String.format(
        Locale.ROOT, "%s [%s%s] %3.0f %%", text, "#".repeat(full), " ".repeat(BAR - full), percent);
  }

  @Override
  public void close() {
    ended.countDown();
    if (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
