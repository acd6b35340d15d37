package io.cephcsi.driver.metrics;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class MetricsServerTest {
  private static final String GOOD = "GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n";

  @SuppressWarnings("NullAway.Init")
  private MetricsServer server;

  @BeforeEach
  void start() throws IOException {
    server =
        MetricsServer.start(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
            new MetricsPage(new PrometheusRegistry(), "/metrics"));
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private Socket send(String text) throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port());
    socket.setSoTimeout(2000);
    socket.getOutputStream().write(text.getBytes(ISO_8859_1));
    return socket;
  }

  private String answer(String text) throws IOException {
    try (Socket socket = send(text)) {
      return new String(socket.getInputStream().readAllBytes(), ISO_8859_1);
    } catch (SocketException e) {
      return "closed";
    }
  }

  @Test
  void metricsAreAnswered() throws IOException {
    assertThat(answer(GOOD)).startsWith("HTTP/1.1 200 OK\r\nContent-Type: text/plain");
    assertThat(answer("HEAD /metrics?x HTTP/1.0\r\n\r\n")).startsWith("HTTP/1.1 200 OK");
    assertThat(answer("GET /-/healthy HTTP/1.1\r\n\r\n")).endsWith("Exporter is healthy.\n");
  }

  @Test
  void nothingElseIs() throws IOException {
    assertThat(answer("POST /metrics HTTP/1.1\r\n\r\n")).startsWith("HTTP/1.1 405 ");
    assertThat(answer("GET /etc/passwd HTTP/1.1\r\n\r\n")).startsWith("HTTP/1.1 404 ");
    assertThat(answer("GET /../metrics HTTP/1.1\r\n\r\n")).startsWith("HTTP/1.1 404 ");
    assertThat(answer("\0\r\n\r\n")).startsWith("HTTP/1.1 400 ");
    assertThat(answer("GET /" + "x".repeat(MetricsServer.HEAD_BYTES))).isIn("", "closed");
  }

  @Test
  void halfSentRequestsHoldNobodyUp() throws IOException {
    List<Socket> half = new ArrayList<>();
    try {
      for (int i = 0; i < 2 * MetricsServer.CONNECTIONS; i++) {
        half.add(send("GET /metrics HT"));
      }
      assertThat(answer(GOOD)).startsWith("HTTP/1.1 200 OK"); // within two seconds
      // The oldest made room, the youngest may go on.
      Socket youngest = half.get(half.size() - 1);
      youngest.getOutputStream().write("TP/1.1\r\n\r\n".getBytes(ISO_8859_1));
      assertThat(new String(youngest.getInputStream().readAllBytes(), ISO_8859_1))
          .startsWith("HTTP/1.1 200 OK");
    } finally {
      for (Socket socket : half) {
        socket.close();
      }
    }
  }
}
