package io.cephcsi.driver.app;

import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.operation.OperationRegistry;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Shows on a terminal how far the running operation is, in one line that is written over. */
final class ProgressLine implements AutoCloseable {
  private static final int BAR = 30;
  private static final String CLEAR = "\r\u001b[K";
  private static final long INTERVAL_MILLIS = 200;

  private final OperationRegistry operations;
  private final PrintWriter out;
  private final CountDownLatch ended = new CountDownLatch(1);
  private final Thread thread = new Thread(this::show, "progress");

  private ProgressLine(OperationRegistry operations, PrintWriter out) {
    this.operations = operations;
    this.out = out;
    thread.setDaemon(true);
  }

  /**
   * Starts showing, if stderr is a terminal.
   *
   * @param err writes to stderr
   */
  static ProgressLine start(OperationRegistry operations, PrintWriter err) {
    ProgressLine line = new ProgressLine(operations, err);
    String term = System.getenv("TERM");
    if (isTerminal(Path.of("/proc/self/fd/2")) && term != null && !term.equals("dumb")) {
      line.thread.start();
    }
    return line;
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
        List<Operation> running = operations.running();
        if (!running.isEmpty()) {
          out.print(CLEAR + line(running.get(0)));
          out.flush();
        }
      }
      out.print(CLEAR);
      out.flush();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  static String line(Operation operation) {
    int full = (int) (operation.percent() * BAR / 100);
    return String.format(
        Locale.ROOT,
        "%s %s [%s%s] %3.0f %%",
        operation.key(),
        operation.phase(),
        "#".repeat(full),
        " ".repeat(BAR - full),
        operation.percent());
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
