package io.cephcsi.driver.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.LoggingEvent;
import java.time.Instant;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LineEncoderTest {
  private static String line(
      String logger, Level level, String time, String message, @Nullable Throwable thrown) {
    Logger source = new LoggerContext().getLogger(logger);
    LoggingEvent event = new LoggingEvent("", source, level, message, thrown, new Object[] {"x"});
    event.setTimeStamp(Instant.parse(time).toEpochMilli());
    return new String(new LineEncoder().encode(event), UTF_8);
  }

  @ParameterizedTest
  @CsvSource({
    "2026-01-02T03:04:05Z, 2026-01-02T03:04:05.000Z",
    "2026-12-31T23:59:59.999Z, 2026-12-31T23:59:59.999Z",
    "2024-02-29T00:00:00.010Z, 2024-02-29T00:00:00.010Z",
  })
  void lineHasTheTimeInUtc(String time, String shown) {
    assertThat(line("a.b.Class", Level.INFO, time, "done {}", null))
        .isEqualTo(shown + " INFO  Class done x\n");
  }

  @ParameterizedTest
  @CsvSource({"ERROR, 'ERROR '", "WARN, 'WARN  '", "DEBUG, 'DEBUG '"})
  void lineHasTheLevelInFiveColumns(String level, String shown) {
    assertThat(line("requests", Level.toLevel(level), "2026-01-02T03:04:05Z", "done", null))
        .isEqualTo("2026-01-02T03:04:05.000Z " + shown + "requests done\n");
  }

  @Test
  void lineIsFollowedByTheStack() {
    assertThat(
            line(
                "a.Class",
                Level.WARN,
                "2026-01-02T03:04:05Z",
                "failed",
                new IllegalStateException("outer", new IllegalArgumentException("inner"))))
        .startsWith("2026-01-02T03:04:05.000Z WARN  Class failed\njava.lang.IllegalStateException")
        .contains(
            "\tat " + LineEncoderTest.class.getName(),
            "Caused by: java.lang.IllegalArgumentException: inner")
        .endsWith("\n");
  }

  @Test
  void noTextOfOthersBeginsALineOrDrivesATerminal() {
    String forged = "x\n2026-01-02T03:04:05.000Z INFO  Class forged\r\u001b[2K\u2028";
    String key = "AQDYxsBgAAAAABAAZm9vYmFyYmF6cXV4Zm9vYg==";
    IllegalStateException thrown =
        new IllegalStateException(forged + key, new IllegalArgumentException(forged));
    thrown.addSuppressed(new IllegalStateException(forged));
    String lines = line("a.Class", Level.WARN, "2026-01-02T03:04:05Z", forged + key, thrown);
    assertThat(lines.lines().filter(l -> l.startsWith("2026-")).count()).isEqualTo(1);
    assertThat(lines).doesNotContain("\r", "\u001b", "\u2028", key).contains("***stripped***");
    assertThat(lines.lines().filter(l -> l.contains("forged")))
        .hasSize(4)
        .allMatch(l -> l.contains("x\\n2026-"));
  }

  @Test
  void theMessageIsBounded() {
    assertThat(line("a", Level.INFO, "2026-01-02T03:04:05Z", "x".repeat(100_000), null))
        .hasSizeLessThan(9000);
  }
}
