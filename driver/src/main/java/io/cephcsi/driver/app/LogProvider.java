package io.cephcsi.driver.app;

import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.util.LogbackMDCAdapter;
import org.slf4j.ILoggerFactory;
import org.slf4j.IMarkerFactory;
import org.slf4j.helpers.BasicMarkerFactory;
import org.slf4j.spi.MDCAdapter;
import org.slf4j.spi.SLF4JServiceProvider;

/**
 * Logback for SLF4J, set up by {@link LogSetup} and nothing else: looking in all libraries for who
 * might set it up takes a tenth of the start.
 */
public final class LogProvider implements SLF4JServiceProvider {
  private final LoggerContext context = new LoggerContext();
  private final BasicMarkerFactory markers = new BasicMarkerFactory();
  private final LogbackMDCAdapter values = new LogbackMDCAdapter();

  /** Made by SLF4J. */
  public LogProvider() {}

  /** Lets SLF4J use this class, unless somebody configures logback or SLF4J. */
  static void choose() {
    if (System.getProperty(LogSetup.CONFIGURATION) == null
        && System.getProperty("slf4j.provider") == null) {
      System.setProperty("slf4j.provider", LogProvider.class.getName());
      System.setProperty("slf4j.internal.verbosity", "WARN"); // not that this one was chosen
    }
  }

  @Override
  public void initialize() {
    context.setName("default");
    context.setMDCAdapter(values);
    new LogSetup().configure(context);
    context.start();
  }

  @Override
  public ILoggerFactory getLoggerFactory() {
    return context;
  }

  @Override
  public IMarkerFactory getMarkerFactory() {
    return markers;
  }

  @Override
  public MDCAdapter getMDCAdapter() {
    return values;
  }

  @Override
  public String getRequestedApiVersion() {
    return "2.0.99"; // any 2.0
  }
}
