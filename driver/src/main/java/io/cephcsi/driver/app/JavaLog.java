package io.cephcsi.driver.app;

import java.util.logging.Formatter;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogManager;
import java.util.logging.LogRecord;
import java.util.logging.SimpleFormatter;
import org.slf4j.LoggerFactory;

/** Hands what gRPC logs with {@code java.util.logging} to the log of the driver. */
final class JavaLog extends Handler {
  private final Formatter text = new SimpleFormatter();

  private JavaLog() {}

  /** Takes the place of the handler that writes to stderr as it is. */
  static void install() {
    LogManager.getLogManager().reset();
    java.util.logging.Logger.getLogger("").addHandler(new JavaLog());
  }

  @Override
  public void publish(LogRecord event) {
    String name = event.getLoggerName();
    LoggerFactory.getLogger(name == null ? "java" : name)
        .atLevel(level(event.getLevel()))
        .setCause(event.getThrown())
        .log(text.formatMessage(event));
  }

  private static org.slf4j.event.Level level(Level level) {
    int value = level.intValue();
    if (value >= Level.SEVERE.intValue()) {
      return org.slf4j.event.Level.ERROR;
    }
    if (value >= Level.WARNING.intValue()) {
      return org.slf4j.event.Level.WARN;
    }
    return value >= Level.INFO.intValue()
        ? org.slf4j.event.Level.INFO
        : org.slf4j.event.Level.DEBUG;
  }

  @Override
  public void flush() {}

  @Override
  public void close() {}
}
