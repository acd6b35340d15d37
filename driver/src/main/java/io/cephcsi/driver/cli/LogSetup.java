package io.cephcsi.driver.cli;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.Configurator;
import ch.qos.logback.classic.spi.ConfiguratorRank;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.joran.spi.ConsoleTarget;
import ch.qos.logback.core.spi.ContextAwareBase;

/**
 * The log: lines on stderr. Set up by code: to read an XML file takes 6 MB and a fifth of the
 * start. Logback finds this class as a service; {@code -Dlogback.configurationFile=FILE} goes
 * before it.
 */
@ConfiguratorRank(ConfiguratorRank.CUSTOM_HIGH_PRIORITY)
public final class LogSetup extends ContextAwareBase implements Configurator {
  /** The system property that names a configuration of logback's own. */
  static final String CONFIGURATION = "logback.configurationFile";

  /** Made by logback. */
  public LogSetup() {}

  @Override
  public ExecutionStatus configure(LoggerContext context) {
    if (System.getProperty(CONFIGURATION) != null) {
      return ExecutionStatus.INVOKE_NEXT_IF_ANY;
    }
    LineEncoder encoder = new LineEncoder();
    encoder.setContext(context);
    encoder.start();
    ConsoleAppender<ILoggingEvent> stderr = new ConsoleAppender<>();
    stderr.setContext(context);
    stderr.setTarget(ConsoleTarget.SystemErr.getName());
    stderr.setEncoder(encoder);
    stderr.start();
    context.getLogger("ROOT").setLevel(Level.INFO);
    context.getLogger("ROOT").addAppender(stderr);
    context.getLogger("io.grpc").setLevel(Level.WARN);
    context.getLogger("io.netty").setLevel(Level.WARN);
    // grpc-java sets TCP options on Unix sockets, too; Netty says that it ignores them.
    context.getLogger("io.netty.bootstrap").setLevel(Level.ERROR);
    return ExecutionStatus.DO_NOT_INVOKE_NEXT_IF_ANY;
  }
}
