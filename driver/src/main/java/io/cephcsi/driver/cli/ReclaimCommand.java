package io.cephcsi.driver.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.app.ConfigException;
import io.cephcsi.driver.app.DriverConfig;
import io.cephcsi.driver.metrics.DriverMetrics;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.reclaim.Admission;
import io.cephcsi.driver.reclaim.PoolPlan;
import io.cephcsi.driver.reclaim.ReclaimPlan;
import io.cephcsi.driver.reclaim.ReclaimResult;
import io.cephcsi.driver.reclaim.SpaceReclaimer;
import io.cephcsi.driver.volume.VolumeException;
import java.io.PrintWriter;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code ceph-csi reclaim}: frees the space of images that nobody uses. */
@Command(
    name = "reclaim",
    description = {
      "Frees the space of RBD images that nobody uses: what the file systems inside (ext2/3/4, XFS,",
      "NTFS, btrfs, FAT, exFAT, swap) do not use, and ranges of zeroes. Gives way to whoever opens",
      "an image meanwhile.",
      "With --pool: trims the images of a pool, those first that give most for the time."
    },
    mixinStandardHelpOptions = true,
    versionProvider = VersionLine.class,
    sortOptions = false,
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:done",
      "1:failed",
      "2:wrong command line or configuration",
      "3:an image was in use or skipped, or came into use before the end",
      "130:ended by SIGINT",
      "143:ended by SIGTERM"
    })
final class ReclaimCommand extends ImageCommand {
  private static final Duration UNLIMITED = Duration.ofDays(365);

  @Option(names = "--dry-run", description = "say what would be reached; change nothing")
  private boolean dryRun;

  @Option(
      names = "--method",
      paramLabel = "METHOD",
      description = "trim, sparsify or both (default: both)")
  private @Nullable String method;

  @Option(
      names = "--sparse-size",
      paramLabel = "BYTES",
      description =
          "ranges of zeroes of this size are freed (default: what the OSDs allocate at once)")
  private @Nullable String sparseSize;

  @Option(
      names = "--max-bytes-per-second",
      paramLabel = "BYTES",
      description = "how much is worked on in a second (default: no limit)")
  private @Nullable String maxBytesPerSecond;

  @Option(
      names = "--concurrency",
      paramLabel = "N",
      description = "how many objects of an image are worked on at once")
  private @Nullable String concurrency;

  @Option(
      names = "--enable-lock",
      description = "give images the feature exclusive-lock, without which they are not trimmed")
  private boolean enableLock;

  @Option(
      names = "--thick",
      description = "reclaim images, too, that older versions of ceph-csi provisioned thick")
  private boolean thick;

  @Option(names = "--exact", description = "measure extents instead of whole objects")
  private boolean exact;

  @Option(
      names = "--reclaims-per-cluster",
      paramLabel = "N",
      description = "how many images of the cluster are reclaimed at once by all (default: 4)")
  private int reclaimsPerCluster = DriverConfig.RECLAIMS_PER_CLUSTER;

  @Mixin private final PoolReclaimOptions pool = new PoolReclaimOptions();

  private final OperationRegistry operations = new OperationRegistry(UNLIMITED);

  @Override
  public Integer call() {
    pool.requireConsistent();
    if (pool.pool().isPresent()) {
      ConfigException.require(images().isEmpty(), "images and --pool exclude each other");
      return reclaimPool(pool.pool().get());
    }
    if (images().isEmpty()) {
      throw new ConfigException("neither images nor --pool are given");
    }
    images().forEach(ImageRef::requireForm);
    ReclaimPlan plan = plan(method);
    List<Line> lines = new ArrayList<>();
    CountDownLatch ended = new CountDownLatch(1);
    Thread stop = new Thread(() -> giveWay(ended), "stop");
    Runtime.getRuntime().addShutdownHook(stop);
    SpaceReclaimer reclaimer =
        new SpaceReclaimer(new DriverMetrics(), new Admission(reclaimsPerCluster));
    try {
      try (RadosCluster cluster = connect();
          ProgressLine progress = ProgressLine.start(this::progress, err())) {
        for (String image : images()) {
          lines.add(reclaim(image, plan, cluster, reclaimer));
        }
      }
      print(
          out -> lines.forEach(line -> line.print(out)),
          root -> {
            ArrayNode array = imagesOf(root);
            lines.forEach(line -> line.toJson(array.addObject()));
          });
    } finally {
      ended.countDown();
    }
    return lines.stream().mapToInt(Line::exitCode).reduce(0, ReclaimCommand::worse);
  }

  private int reclaimPool(String place) {
    String[] parts = place.split("/", -1);
    ConfigException.require(
        parts.length <= 2 && !parts[0].isEmpty(), "--pool must be POOL or POOL/NAMESPACE");
    ConfigException.require(
        method == null || method.equals("trim"),
        "--pool trims only: what sparsify would free, only reading all data tells");
    ReclaimPlan plan = plan("trim");
    String namespace = parts.length == 2 ? parts[1] : connection().defaultNamespace();
    SpaceReclaimer reclaimer =
        new SpaceReclaimer(new DriverMetrics(), new Admission(reclaimsPerCluster));
    long start = System.nanoTime();
    CountDownLatch printed = new CountDownLatch(1);
    try (RadosCluster cluster = connect();
        IoContext io = cluster.openPool(parts[0], namespace);
        PoolState state = PoolState.open(pool.state(), pool.run(io, plan))) {
      PoolReclaim work =
          new PoolReclaim(connection(), io, plan, pool, reclaimer, operations, state);
      Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(work, printed), "stop"));
      PoolPlan done;
      try (ProgressLine progress = ProgressLine.start(work::progress, err())) {
        done = work.run();
      }
      double seconds = (System.nanoTime() - start) / 1e9;
      PoolReclaimReport report = new PoolReclaimReport(place, done, state, seconds, work.whyLeft());
      if (state.isEstimated()) { // else it would tell of a part of the pool as of all
        ReclaimMetrics metrics = ReclaimMetrics.of(parts[0], namespace, state.estimates(), state);
        pool.metricsFile()
            .ifPresent(
                file ->
                    OutputFile.replace(file, metrics.text(pool.metricsImages(), Instant.now())));
      }
      print(report::table, report::json);
      return work.hasFailed() ? DriverMain.EXIT_FAILED : work.isIncomplete() ? EXIT_INCOMPLETE : 0;
    } finally {
      printed.countDown();
    }
  }

  private static void stop(PoolReclaim work, CountDownLatch printed) {
    work.stop();
    await(printed);
  }

  private Optional<String> progress() {
    return operations.running().stream()
        .findFirst()
        .map(o -> ProgressLine.bar(o.key() + " " + o.phase(), o.percent()));
  }

  private static int worse(int one, int other) {
    return one == DriverMain.EXIT_FAILED || other == DriverMain.EXIT_FAILED
        ? DriverMain.EXIT_FAILED
        : Math.max(one, other);
  }

  /** On SIGINT or SIGTERM: ends at the next safe point, with the lock given back. */
  private void giveWay(CountDownLatch ended) {
    operations.stop();
    operations.cancelAll();
    await(ended);
  }

  private static void await(CountDownLatch ended) {
    try {
      ended.await(30, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private ReclaimPlan plan(@Nullable String by) {
    Map<String, String> parameters = new LinkedHashMap<>();
    parameters.put("reclaim.dryRun", Boolean.toString(dryRun));
    parameters.put("reclaim.enableLock", Boolean.toString(enableLock));
    parameters.put("reclaim.thick", Boolean.toString(thick));
    parameters.put("reclaim.exactUsage", Boolean.toString(exact));
    put(parameters, "reclaim.method", by);
    put(parameters, "reclaim.sparseSize", sparseSize);
    put(parameters, "reclaim.maxBytesPerSecond", maxBytesPerSecond);
    put(parameters, "reclaim.concurrency", concurrency);
    try {
      return ReclaimPlan.parse(parameters);
    } catch (VolumeException e) {
      throw new ConfigException(String.valueOf(e.getMessage()), e);
    }
  }

  private static void put(Map<String, String> parameters, String key, @Nullable String value) {
    if (value != null) {
      parameters.put(key, value);
    }
  }

  private Line reclaim(
      String image, ReclaimPlan plan, RadosCluster cluster, SpaceReclaimer reclaimer) {
    long start = System.nanoTime();
    try {
      ImageRef ref = resolve(image, cluster);
      try (IoContext io = cluster.openPool(ref.pool(), ref.namespace())) {
        CliTarget target = new CliTarget(connection(), io, ref);
        ReclaimResult result =
            operations
                .start(
                    ref.toString(),
                    "reclaim",
                    Runnable::run,
                    operation -> reclaimer.reclaim(target, plan, operation))
                .join();
        return new Line(image, Optional.of(result), "", System.nanoTime() - start);
      }
    } catch (CephException | VolumeException | java.util.concurrent.CompletionException e) {
      Throwable cause = e.getCause() == null ? e : e.getCause();
      String problem = String.valueOf(cause.getMessage());
      return new Line(image, Optional.empty(), problem, System.nanoTime() - start);
    }
  }

  /** What became of one image. */
  private record Line(String image, Optional<ReclaimResult> result, String problem, long nanos) {
    int exitCode() {
      return result
          .map(
              r ->
                  switch (r.outcome()) {
                    case DONE, DRY_RUN -> 0;
                    case SKIPPED, GAVE_WAY -> EXIT_INCOMPLETE;
                  })
          .orElse(DriverMain.EXIT_FAILED);
    }

    private double seconds() {
      return nanos / 1e9;
    }

    /** A line, and of a dry run what the image holds. */
    void print(PrintWriter out) {
      out.println(DriverMain.shown(text()));
      result
          .filter(r -> r.outcome() == ReclaimResult.Outcome.DRY_RUN)
          .flatMap(r -> r.trim().content())
          .ifPresent(content -> ContentOutput.table(out, content));
    }

    private String text() {
      if (result.isEmpty()) {
        return image + ": failed: " + problem;
      }
      ReclaimResult r = result.get();
      String what =
          switch (r.outcome()) {
            case DONE -> "done";
            case DRY_RUN -> "would reach";
            case SKIPPED -> "skipped: " + r.reason();
            case GAVE_WAY -> "gave way: " + r.reason();
          };
      return String.format(
          Locale.ROOT,
          "%s: %s: used %s, then %s; freed %s (%d objects) in %.1f s (%s/s); %s",
          image,
          what,
          shown(r.before()),
          shown(r.after()),
          bytes(r.freed()),
          r.freedObjects(),
          seconds(),
          bytes((long) (r.freed() / Math.max(0.001, seconds()))),
          r.trim());
    }

    private static String shown(OptionalLong bytes) {
      return bytes.isPresent() ? bytes(bytes.getAsLong()) : "unknown";
    }

    void toJson(ObjectNode node) {
      node.put("name", image).put("seconds", seconds());
      if (result.isEmpty()) {
        node.put("outcome", "failed").put("reason", problem);
        return;
      }
      ReclaimResult r = result.get();
      node.put("outcome", r.outcome().name().toLowerCase(Locale.ROOT)).put("reason", r.reason());
      r.before().ifPresent(bytes -> node.put("usedBefore", bytes));
      r.after().ifPresent(bytes -> node.put("usedAfter", bytes));
      node.put("freedBytes", r.freed()).put("freedObjects", r.freedObjects());
      ObjectNode trim =
          node.putObject("trim")
              .put("skipped", r.trim().isSkipped() ? r.trim().reason() : "")
              .put("detail", r.trim().detail())
              .put("fileSystem", r.trim().fileSystem())
              .put("discardedBytes", r.trim().discardedBytes())
              .put("discardedInsideObjectsBytes", r.trim().discarded().insideBytes());
      r.trim()
          .content()
          .ifPresent(content -> ContentOutput.json(trim.putObject("content"), content));
    }
  }
}
