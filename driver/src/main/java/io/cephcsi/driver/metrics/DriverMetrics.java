package io.cephcsi.driver.metrics;

import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.CounterWithCallback;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;

/** What the driver counts, and the HTTP endpoint that Prometheus reads it from. */
public final class DriverMetrics {
  private static final Duration PAUSE = Duration.ofSeconds(10);

  private final PrometheusRegistry registry = new PrometheusRegistry();
  private final Histogram calls;
  private final Counter reclaims;
  private final Counter reclaimedBytes;
  private final Counter reclaimedObjects;
  private final Counter trims;
  private final Counter discardedBytes;
  private final Counter discardedInsideBytes;
  private final CopyStates copies = new CopyStates();

  /** Metrics in a registry of their own. */
  public DriverMetrics() {
    calls =
        Histogram.builder()
            .name("csi_plugin_operations_seconds")
            .help("Duration of calls by driver, method and status code")
            .labelNames("driver_name", "method_name", "grpc_status_code")
            .classicUpperBounds(.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300)
            .register(registry);
    reclaims =
        Counter.builder()
            .name("ceph_csi_reclaims")
            .help(
                "Reclaims by outcome: done, dry_run, skipped (in use), gave_way (opened by another"
                    + " client)")
            .labelNames("outcome")
            .register(registry);
    reclaimedBytes =
        Counter.builder()
            .name("ceph_csi_reclaimed_bytes")
            .help("Bytes that reclaims freed, by usage before and after")
            .register(registry);
    reclaimedObjects =
        Counter.builder()
            .name("ceph_csi_reclaimed_objects")
            .help("Objects that reclaims of the controller removed")
            .register(registry);
    trims =
        Counter.builder()
            .name("ceph_csi_trims")
            .help("Offline trims by the reason for which nothing was discarded; none if it was")
            .labelNames("skipped")
            .register(registry);
    discardedBytes =
        Counter.builder()
            .name("ceph_csi_discarded_bytes")
            .help("Bytes that offline trims discarded because file systems do not use them")
            .register(registry);
    discardedInsideBytes =
        Counter.builder()
            .name("ceph_csi_discarded_inside_objects_bytes")
            .help("The part of ceph_csi_discarded_bytes_total that lies in objects that stay")
            .register(registry);
    showCopies();
  }

  /** Shows how many calls run. */
  public void operations(IntSupplier running) {
    GaugeWithCallback.builder()
        .name("ceph_csi_running_operations")
        .help("Calls that run or wait now")
        .callback(callback -> callback.call(running.getAsInt()))
        .register(registry);
  }

  /** Shows how many entries of journals lists left out. */
  public void damagedEntries(LongSupplier found) {
    CounterWithCallback.builder()
        .name("ceph_csi_damaged_journal_entries")
        .help("Entries of journals that lists leave out because they cannot be read")
        .callback(callback -> callback.call((double) found.getAsLong()))
        .register(registry);
  }

  /** How far the copies of mirrored volumes are, of all drivers of the process. */
  public CopyStates copies() {
    return copies;
  }

  private void showCopies() {
    GaugeWithCallback.builder()
        .name("ceph_csi_replication_seconds_behind")
        .help(
            "Age of the copy that is furthest behind, of the mirrored volumes that were asked for in"
                + " the last hour")
        .callback(
            callback ->
                copies
                    .furthestBehind(Instant.now())
                    .ifPresent(behind -> callback.call(behind.toMillis() / 1e3)))
        .register(registry);
    GaugeWithCallback.builder()
        .name("ceph_csi_replicated_volumes")
        .help(
            "Mirrored volumes that were asked for in the last hour, by the health of their copies")
        .labelNames("health")
        .callback(
            callback -> copies.byHealth().forEach((health, count) -> callback.call(count, health)))
        .register(registry);
  }

  /** Counts a call. */
  public void call(String driver, String method, String code, Duration took) {
    calls.labelValues(driver, method, code).observe(took.toNanos() / 1e9);
  }

  /**
   * Counts a reclaim.
   *
   * @param outcome done, dry_run, skipped or gave_way
   * @param freedBytes usage before less usage after, not negative
   * @param freedObjects how many objects went away, not negative; 0 where that is not known
   */
  public void reclaim(String outcome, long freedBytes, long freedObjects) {
    reclaims.labelValues(outcome).inc();
    reclaimedBytes.inc(freedBytes);
    reclaimedObjects.inc(freedObjects);
  }

  /**
   * Counts an offline trim.
   *
   * @param skipped why nothing was discarded; none if it was
   * @param bytes how much was discarded
   * @param insideBytes the part of it that lies in objects that stay
   */
  public void trim(String skipped, long bytes, long insideBytes) {
    trims.labelValues(skipped).inc();
    discardedBytes.inc(bytes);
    discardedInsideBytes.inc(insideBytes);
  }

  /**
   * Serves the metrics over HTTP.
   *
   * @throws IOException when the address cannot be listened on
   */
  public MetricsServer serve(MetricsEndpoint endpoint) throws IOException {
    return endpoint.serve(registry);
  }

  /**
   * Serves the metrics over HTTP until it is closed, or tries to every ten seconds while the
   * address cannot be listened on: nothing else of the driver depends on them. Does not block.
   */
  public AutoCloseable serveWhenFree(MetricsEndpoint endpoint) {
    return LateMetrics.start(endpoint, registry, PAUSE);
  }
}
