package io.cephcsi.driver.cli;

import io.cephcsi.driver.app.ConfigException;
import io.cephcsi.driver.grpc.SocketChannels;
import io.cephcsi.driver.grpc.StatusTable;
import io.cephcsi.driver.metrics.MetricsEndpoint;
import io.cephcsi.driver.metrics.MetricsServer;
import io.cephcsi.proto.csi.v1.IdentityGrpc;
import io.cephcsi.proto.csi.v1.ProbeRequest;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import io.prometheus.metrics.core.metrics.Gauge;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * {@code serve --type liveness}: the side container that asks a driver whether it is ready and
 * shows the answer as the metric {@code csi_liveness}.
 */
final class LivenessProbe {
  private static final Logger LOG = LoggerFactory.getLogger(LivenessProbe.class);

  private LivenessProbe() {}

  static int serve(Path socket, MetricsEndpoint metrics, Duration pollTime, Duration timeout)
      throws IOException, InterruptedException {
    ConfigException.require(metrics.port() > 0, "--metricsport is required for the type liveness");
    PrometheusRegistry registry = new PrometheusRegistry();
    Gauge liveness =
        Gauge.builder()
            .name("csi_liveness")
            .help("1 when the driver says that it is ready")
            .register(registry);
    MetricsServer http = metrics.serve(registry);
    SocketChannels channels = new SocketChannels();
    ManagedChannel channel = channels.open(socket);
    ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
    @SuppressWarnings("unused") // it ends with the timer, and does not throw
    var polling =
        timer.scheduleWithFixedDelay(
            () -> liveness.set(ready(channel, timeout) ? 1 : 0),
            0,
            pollTime.toMillis(),
            TimeUnit.MILLISECONDS);
    ServeCommand.awaitSignal(
        () -> {
          timer.shutdownNow();
          channel.shutdownNow();
          channels.close();
          http.close();
        });
    return 0;
  }

  private static boolean ready(ManagedChannel channel, Duration timeout) {
    try {
      channel.resetConnectBackoff(); // else a driver that came back is found after minutes only
      return IdentityGrpc.newBlockingStub(channel)
          .withDeadlineAfter(timeout.toMillis(), TimeUnit.MILLISECONDS)
          .probe(ProbeRequest.getDefaultInstance())
          .getReady()
          .getValue();
    } catch (StatusRuntimeException e) {
      LOG.warn("the driver does not answer: {}", StatusTable.show(e));
      return false;
    }
  }
}
