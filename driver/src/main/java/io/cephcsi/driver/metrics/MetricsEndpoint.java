package io.cephcsi.driver.metrics;

import io.prometheus.metrics.exporter.httpserver.HTTPServer;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;

/**
 * Where Prometheus reads metrics over HTTP.
 *
 * @param address the address or name to listen on; empty for all addresses
 * @param port the port; 0 for no endpoint
 * @param path the path, which begins with a slash
 */
public record MetricsEndpoint(String address, int port, String path) {
  /** The path unless another is asked for. */
  public static final String DEFAULT_PATH = "/metrics";

  /** No endpoint. */
  public static final MetricsEndpoint NONE = new MetricsEndpoint("", 0, DEFAULT_PATH);

  /** Serves a registry until the server is closed. */
  public HTTPServer serve(PrometheusRegistry registry) throws IOException {
    HTTPServer.Builder server =
        HTTPServer.builder().port(port).registry(registry).metricsHandlerPath(path);
    if (!address.isEmpty()) {
      server.hostname(address);
    }
    try {
      return server.buildAndStart();
    } catch (IOException | RuntimeException e) { // the latter for a name that is not resolved
      String where = (address.isEmpty() ? "" : address + ", ") + "port " + port;
      throw new IOException("cannot serve metrics on " + where + ": " + e.getMessage(), e);
    }
  }
}
