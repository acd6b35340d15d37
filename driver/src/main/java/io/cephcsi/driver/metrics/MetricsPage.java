package io.cephcsi.driver.metrics;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.prometheus.metrics.expositionformats.ExpositionFormatWriter;
import io.prometheus.metrics.expositionformats.ExpositionFormats;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Locale;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The answers of the metrics' endpoint: one page, and {@code /-/healthy}. Thread-safe. */
final class MetricsPage implements Function<String, byte[]> {
  private static final String HEALTHY = "/-/healthy";
  private static final String TEXT = "text/plain; charset=utf-8";

  private final PrometheusRegistry registry;
  private final String path;
  private final ExpositionFormats formats = ExpositionFormats.init();

  MetricsPage(PrometheusRegistry registry, String path) {
    this.registry = registry;
    this.path = path;
  }

  /**
   * The answer to a request.
   *
   * @param head the request up to its body
   */
  @Override
  public byte[] apply(String head) {
    String[] words = head.lines().findFirst().orElse("").split(" ", -1);
    if (words.length != 3 || !words[2].startsWith("HTTP/1.")) {
      return answer("400 Bad Request", TEXT, "", text("not HTTP/1.1\n"), true);
    }
    boolean body = !words[0].equals("HEAD");
    if (body && !words[0].equals("GET")) {
      return answer(
          "405 Method Not Allowed", TEXT, "Allow: GET, HEAD\r\n", text("GET only\n"), true);
    }
    String asked = words[1].split("\\?", 2)[0];
    if (asked.equals(HEALTHY)) {
      return answer("200 OK", TEXT, "", text("Exporter is healthy.\n"), body);
    }
    if (!asked.equals(path)) {
      return answer("404 Not Found", TEXT, "", text("metrics are at " + path + "\n"), body);
    }
    ExpositionFormatWriter writer = formats.findWriter(accepted(head));
    ByteArrayOutputStream metrics = new ByteArrayOutputStream();
    try {
      writer.write(metrics, registry.scrape());
    } catch (IOException e) {
      throw new UncheckedIOException(e); // it is written to memory
    }
    return answer("200 OK", writer.getContentType(), "", metrics.toByteArray(), body);
  }

  private static @Nullable String accepted(String head) {
    return head.lines()
        .filter(line -> line.toLowerCase(Locale.ROOT).startsWith("accept:"))
        .map(line -> line.substring("accept:".length()).strip())
        .findFirst()
        .orElse(null);
  }

  private static byte[] text(String text) {
    return text.getBytes(ISO_8859_1);
  }

  private static byte[] answer(
      String status, String type, String more, byte[] content, boolean withBody) {
    byte[] head =
        text(
            "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%sConnection: close\r\n\r\n"
                .formatted(status, type, content.length, more));
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    all.writeBytes(head);
    if (withBody) {
      all.writeBytes(content);
    }
    return all.toByteArray();
  }
}
