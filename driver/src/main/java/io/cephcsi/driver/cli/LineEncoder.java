package io.cephcsi.driver.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.classic.spi.ThrowableProxyUtil;
import ch.qos.logback.core.encoder.EncoderBase;
import io.cephcsi.driver.grpc.KeyMaterial;
import io.cephcsi.driver.volume.PlainText;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import org.jspecify.annotations.Nullable;

/**
 * A line of the log: time in UTC, level, the class that says it, the message; below it the stack of
 * what was thrown. No text of others begins a line, or drives a terminal, which Logback's patterns
 * cannot do.
 */
public final class LineEncoder extends EncoderBase<ILoggingEvent> {
  private static final byte[] NOTHING = {};
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSS'Z'").withZone(ZoneOffset.UTC);

  /** How many characters of a message are shown. */
  private static final int MESSAGE = 8192;

  /** Made by Logback. */
  public LineEncoder() {}

  @Override
  public byte[] encode(ILoggingEvent event) {
    StringBuilder line = new StringBuilder(160);
    TIME.formatTo(Instant.ofEpochMilli(event.getTimeStamp()), line);
    line.append(String.format(" %-5s", event.getLevel()));
    String logger = event.getLoggerName();
    line.append(' ').append(logger, logger.lastIndexOf('.') + 1, logger.length());
    line.append(' ').append(shown(event.getFormattedMessage())).append('\n');
    IThrowableProxy thrown = event.getThrowableProxy();
    if (thrown != null) {
      stack(line, thrown, "", 0);
    }
    return line.toString().getBytes(UTF_8);
  }

  /** On one line, bounded, and without keys: it may hold what a request holds. */
  private static String shown(@Nullable String message) {
    return message == null ? "" : PlainText.escape(KeyMaterial.hide(message), MESSAGE);
  }

  /** As Java shows it, but for the messages. */
  private static void stack(StringBuilder line, IThrowableProxy thrown, String prefix, int indent) {
    line.append("\t".repeat(indent)).append(prefix).append(thrown.getClassName());
    if (thrown.getMessage() != null) {
      line.append(": ").append(shown(thrown.getMessage()));
    }
    line.append('\n');
    if (thrown.isCyclic()) {
      return;
    }
    ThrowableProxyUtil.subjoinSTEPArray(line, indent + 1, thrown);
    for (IThrowableProxy suppressed : thrown.getSuppressed()) {
      stack(line, suppressed, "Suppressed: ", indent + 1);
    }
    if (thrown.getCause() != null) {
      stack(line, thrown.getCause(), "Caused by: ", indent);
    }
  }

  @Override
  public byte[] headerBytes() {
    return NOTHING;
  }

  @Override
  public byte[] footerBytes() {
    return NOTHING;
  }
}
