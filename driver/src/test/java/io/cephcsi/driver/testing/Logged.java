package io.cephcsi.driver.testing;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.core.read.ListAppender;
import java.util.List;
import java.util.Objects;
import org.slf4j.LoggerFactory;

/** What a class logs until this is closed. */
public final class Logged implements AutoCloseable {
  private final Logger logger;
  private final ListAppender<ILoggingEvent> log = new ListAppender<>();

  private Logged(Logger logger) {
    this.logger = logger;
  }

  /** Begins to listen. */
  public static Logged by(Class<?> type) {
    Logged logged = new Logged((Logger) LoggerFactory.getLogger(type));
    logged.log.start();
    logged.logger.addAppender(logged.log);
    return logged;
  }

  /** The lines so far, each with its level. */
  public List<String> lines() {
    return List.copyOf(log.list).stream()
        .map(event -> event.getLevel() + " " + event.getFormattedMessage())
        .toList();
  }

  /** The messages of what was logged with its stack trace. */
  public List<String> thrown() {
    return List.copyOf(log.list).stream()
        .map(ILoggingEvent::getThrowableProxy)
        .filter(Objects::nonNull)
        .map(IThrowableProxy::getMessage)
        .toList();
  }

  @Override
  public void close() {
    logger.detachAppender(log);
    log.stop();
  }
}
