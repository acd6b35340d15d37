package io.cephcsi.driver.metrics;

import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.net.InetSocketAddress;

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

  /**
   * Serves a registry until the server is closed.
   *
   * @throws IOException when the address cannot be listened on
   */
  public MetricsServer serve(PrometheusRegistry registry) throws IOException {
    try {
      return MetricsServer.start(
          address.isEmpty() ? new InetSocketAddress(port) : new InetSocketAddress(address, port),
          new MetricsPage(registry, path));
    } catch (IOException e) {
      String where = (address.isEmpty() ? "" : address + ", ") + "port " + port;
      throw new IOException("cannot serve metrics on " + where + ": " + e.getMessage(), e);
    }
  }
}
