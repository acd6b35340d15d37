package io.cephcsi.driver.cli;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.app.ConfigException;
import io.cephcsi.driver.reclaim.ReclaimPlan;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Options of {@code ceph-csi reclaim} for whole pools. */
final class PoolReclaimOptions {
  private static final int MOST = 64;

  @Option(
      names = "--pool",
      paramLabel = "POOL[/NAMESPACE]",
      description =
          "trim all images of a pool: first estimate what each would give, then work in the order"
              + " of what they give for the time that they take")
  private @Nullable String pool;

  @Option(
      names = "--top",
      paramLabel = "N",
      description = "of --pool: only the N images that give most for the time that they take")
  private @Nullable Integer top;

  @Option(
      names = "--min-bytes",
      paramLabel = "BYTES",
      description = "of --pool: only images that give so much, such as 100M")
  private @Nullable String minBytes;

  @Option(
      names = "--budget",
      paramLabel = "BYTES|TIME",
      description =
          "of --pool: begin no image after so much was discarded (100G), or end after so long (2h)")
  private @Nullable String budget;

  @Option(
      names = "--state",
      paramLabel = "FILE",
      description = "of --pool: keep here what is done; the same command then goes on")
  private @Nullable Path state;

  @Option(
      names = "--reclaims",
      paramLabel = "N",
      description = "of --pool: how many images are trimmed at once (default: 2)")
  private @Nullable Integer reclaims;

  @Option(
      names = "--workers",
      paramLabel = "N",
      description = "of --pool: how many images are estimated at once (default: 4)")
  private @Nullable Integer workers;

  @Option(
      names = "--estimate-rate",
      paramLabel = "N",
      description =
          "of --pool: how many images are estimated in a second at most (default: 100; 0: no"
              + " bound)")
  private @Nullable Integer estimateRate;

  @Option(
      names = "--metrics-file",
      paramLabel = "FILE",
      description =
          "of --pool: write what the images would give that are not trimmed yet as metrics, for"
              + " node_exporter")
  private @Nullable Path metricsFile;

  @Option(
      names = "--metrics-images",
      paramLabel = "N",
      description =
          "of --metrics-file: how many images have a series of their own, 0 to "
              + ReclaimMetrics.MOST_IMAGES
              + " (default: 100)")
  private @Nullable Integer metricsImages;

  /** The pool and namespace as they were given; empty to reclaim single images. */
  Optional<String> pool() {
    return Optional.ofNullable(pool);
  }

  int top() {
    return top == null ? 0 : top;
  }

  long minBytes() {
    return minBytes == null ? 0 : PoolBudget.bytes("--min-bytes", minBytes);
  }

  PoolBudget budget() {
    return PoolBudget.parse(budget);
  }

  Optional<Path> state() {
    return Optional.ofNullable(state);
  }

  Optional<Path> metricsFile() {
    return Optional.ofNullable(metricsFile);
  }

  int metricsImages() {
    return metricsImages == null ? 100 : metricsImages;
  }

  int reclaims() {
    return reclaims == null ? 2 : reclaims;
  }

  int workers() {
    return workers == null ? 4 : workers;
  }

  int estimateRate() {
    return estimateRate == null ? 100 : estimateRate;
  }

  /** What a run is about, by names to show: a state is of one run only. */
  Map<String, String> run(IoContext io, ReclaimPlan plan) {
    Map<String, String> run = new LinkedHashMap<>();
    run.put("cluster", io.cluster().fsid());
    run.put("pool", io.pool());
    run.put("pool id", Long.toString(io.poolId()));
    run.put("namespace", io.namespace());
    run.put("--top", top == null ? "" : top.toString());
    run.put("--min-bytes", minBytes == null ? "" : Long.toString(minBytes()));
    run.put("--budget", budget == null ? "" : budget);
    run.put("--enable-lock", Boolean.toString(plan.enableLock()));
    run.put("--thick", Boolean.toString(plan.thick()));
    return run;
  }

  /** Checks them before anything is done. */
  void requireConsistent() {
    if (pool == null) {
      boolean others =
          top != null
              || minBytes != null
              || budget != null
              || state != null
              || reclaims != null
              || workers != null
              || estimateRate != null
              || metricsFile != null
              || metricsImages != null;
      ConfigException.require(
          !others,
          "--top, --min-bytes, --budget, --state, --reclaims, --workers, --estimate-rate,"
              + " --metrics-file and --metrics-images need --pool");
      return;
    }
    ConfigException.require(
        top == null || minBytes == null, "--top and --min-bytes exclude each other");
    ConfigException.require(top == null || top >= 1, "--top must be at least 1");
    ConfigException.require(
        reclaims() >= 1 && reclaims() <= MOST, "--reclaims must be 1 to " + MOST);
    ConfigException.require(workers() >= 1 && workers() <= MOST, "--workers must be 1 to " + MOST);
    ConfigException.require(
        estimateRate() >= 0 && estimateRate() <= 1_000_000, "--estimate-rate must be 0 to 1000000");
    ConfigException.require(
        metricsImages == null || metricsFile != null, "--metrics-images needs --metrics-file");
    ConfigException.require(
        metricsImages() >= 0 && metricsImages() <= ReclaimMetrics.MOST_IMAGES,
        "--metrics-images must be 0 to " + ReclaimMetrics.MOST_IMAGES);
    metricsFile().ifPresent(BenchPage::requireWritable);
    minBytes();
    budget();
  }
}
