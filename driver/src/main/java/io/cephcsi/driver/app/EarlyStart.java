package io.cephcsi.driver.app;

import io.cephcsi.driver.grpc.SocketServer;
import io.cephcsi.driver.metrics.DriverMetrics;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/**
 * Loads what a gRPC server needs on a second thread, while the first one reads the command line and
 * the configuration: a quarter of the start. The two share no library meanwhile, as classes that
 * initialize each other in two threads could wait for each other for ever.
 */
final class EarlyStart {
  private static final AtomicReference<@Nullable Thread> LOADER = new AtomicReference<>();

  private EarlyStart() {}

  /** Begins to load. */
  static void begin() {
    LoggerFactory.getILoggerFactory(); // both threads log
    Thread thread = new Thread(EarlyStart::load, "early start");
    thread.setDaemon(true);
    // What cannot be loaded now cannot later either: then it is told to whom it concerns.
    thread.setUncaughtExceptionHandler((loader, e) -> {});
    if (LOADER.compareAndSet(null, thread)) {
      thread.start();
    }
  }

  private static void load() {
    SocketServer.load(new DriverMetrics());
  }

  /** Waits until all is loaded that was begun. */
  static void await() {
    Thread thread = LOADER.getAndSet(null);
    if (thread == null) {
      return;
    }
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
