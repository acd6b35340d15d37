package io.cephcsi.driver.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.app.ConfigException;
import io.cephcsi.driver.app.DriverConfig;
import io.cephcsi.driver.app.Version;
import io.cephcsi.driver.cluster.CephCommand;
import io.cephcsi.driver.metrics.DriverMetrics;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.reclaim.Admission;
import io.cephcsi.driver.reclaim.ReclaimResult;
import io.cephcsi.driver.reclaim.SpaceReclaimer;
import io.cephcsi.driver.volume.Json;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code ceph-csi bench reclaim}: how fast is reclaim on this cluster? */
@Command(
    name = "reclaim",
    description = {
      "Makes an image, fills it with data that nothing uses, reclaims it, and again for every",
      "concurrency and rate; prints the throughput and the CPU that it cost. The image is removed",
      "at the end, on SIGINT and SIGTERM, too. The cluster has the load of a real reclaim"
          + " meanwhile."
    },
    mixinStandardHelpOptions = true,
    versionProvider = VersionLine.class,
    showDefaultValues = true,
    sortOptions = false,
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:done",
      "1:failed",
      "2:wrong command line or configuration",
      "130:ended by SIGINT",
      "143:ended by SIGTERM"
    })
final class BenchReclaimCommand implements Callable<Integer> {
  private static final Pattern SIZE = Pattern.compile("(\\d{1,6})([MGT])(i?B)?");
  private static final Duration UNLIMITED = Duration.ofDays(365);
  private static final long MAX_SIZE = 4L << 40;
  private static final int MOST_LOADS = 100;

  @Spec
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private CommandSpec spec;

  @Mixin private final ClusterOptions connection = new ClusterOptions();

  @Option(
      names = "--pool",
      paramLabel = "POOL[/NAMESPACE]",
      required = true,
      description = "where the image is made")
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private String pool;

  @Option(names = "--size", paramLabel = "SIZE", description = "of the image, such as 10G or 1T")
  private String size = "10G";

  @Option(
      names = "--fill",
      paramLabel = "PERCENT",
      description = "how much of what is free gets data before each reclaim")
  private int fill = 20;

  @Option(
      names = "--object-data",
      paramLabel = "BYTES",
      description = "how much of each object of 4 MiB is written")
  private int objectData = 64 << 10;

  @Option(
      names = "--method",
      paramLabel = "METHOD",
      description = "trim (of an ext4; needs mkfs.ext4) or sparsify (of zeroes)")
  private String method = "trim";

  @Option(
      names = "--concurrency",
      paramLabel = "N,...",
      split = ",",
      description = "how many objects are worked on at once")
  private List<Integer> concurrencies = List.of(1, 4, 16, 64);

  @Option(
      names = "--max-bytes-per-second",
      paramLabel = "BYTES,...",
      split = ",",
      description = {
        "how much is worked on in a second; 0 for no limit (default: 0; with --report and a trim",
        "also 25, 50 and 75 %% of the most that a second took)"
      })
  private @Nullable List<Long> rates;

  @Option(
      names = {"-o", "--output"},
      paramLabel = "FORMAT",
      description = "table or json")
  private OutputFormat output = OutputFormat.table;

  @Option(
      names = "--report",
      paramLabel = "FILE.html",
      description = {
        "writes a page with plots there: throughput, latency, CPU, and what the OSDs count. Two of",
        "them are compared by bench compare"
      })
  private @Nullable Path report;

  private final OperationRegistry operations = new OperationRegistry(UNLIMITED);
  private final Set<String> notes = new LinkedHashSet<>();
  private volatile String doing = "";
  private volatile boolean interrupted;

  @Override
  public Integer call() throws IOException {
    long bytes = bytes(size);
    ConfigException.require(fill >= 1 && fill <= 100, "--fill must be 1 to 100 percent");
    ConfigException.require(
        objectData >= 4096 && objectData <= ScratchImage.OBJECT_BYTES,
        "--object-data must be 4096 to " + ScratchImage.OBJECT_BYTES);
    boolean trim = method.equals("trim");
    ConfigException.require(
        trim || method.equals("sparsify"), "--method must be trim or sparsify, not " + method);
    List<BenchLoad> loads = loads();
    if (report != null) {
      BenchPage.requireWritable(report);
    }
    String[] place = pool.split("/", -1);
    ConfigException.require(
        place.length <= 2 && !place[0].isEmpty(), "--pool must be POOL or POOL/NAMESPACE");
    String namespace = place.length == 2 ? place[1] : connection.defaultNamespace();
    ImageRef image = new ImageRef(place[0], namespace, "csi-bench-" + UUID.randomUUID());

    CountDownLatch ended = new CountDownLatch(1);
    Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(ended), "stop"));
    List<BenchPoint> points = new ArrayList<>();
    BenchReport found;
    try (RadosCluster cluster = connection.connect(Map.of());
        IoContext io = cluster.openPool(image.pool(), image.namespace());
        ProgressLine progress = ProgressLine.start(this::progress, spec.commandLine().getErr())) {
      spec.commandLine().getErr().println("the image is " + image);
      doing = "making the image";
      try (ScratchImage scratch =
          ScratchImage.make(io, image.image(), bytes, trim, () -> interrupted)) {
        measure(scratch, new CliTarget(connection, io, image), loads, trim, points);
        doing = "removing the image";
      }
      found = new BenchReport(setup(cluster, image), points, List.copyOf(notes));
    } finally {
      ended.countDown();
    }
    if (report != null) {
      OutputFile.replace(report, BenchPage.of(found));
    }
    print(image, points);
    return interrupted ? DriverMain.EXIT_FAILED : 0;
  }

  private void measure(
      ScratchImage scratch,
      CliTarget target,
      List<BenchLoad> loads,
      boolean trim,
      List<BenchPoint> points)
      throws IOException {
    int objects = Math.max(1, (int) ((long) scratch.freeObjects() * fill / 100));
    byte[] data = new byte[objectData];
    if (trim) {
      new Random(1).nextBytes(data);
    }
    SpaceReclaimer reclaimer =
        new SpaceReclaimer(new DriverMetrics(), new Admission(DriverConfig.RECLAIMS_PER_CLUSTER));
    Deque<BenchLoad> left = new ArrayDeque<>(loads);
    boolean shares = trim && report != null && rates == null;
    while (!left.isEmpty()) {
      scratch.fill(
          objects,
          data,
          i -> doing = ProgressLine.bar("filling", 100.0 * i / objects),
          () -> interrupted);
      doing = "";
      if (interrupted) {
        return;
      }
      measure(reclaimer, target, left.remove(), objects).ifPresent(points::add);
      if (left.isEmpty() && shares) {
        left.addAll(BenchLoad.shares(points));
        shares = false;
      }
    }
  }

  /** One reclaim; empty if it did not take place. */
  private Optional<BenchPoint> measure(
      SpaceReclaimer reclaimer, CliTarget target, BenchLoad load, int objects) throws IOException {
    RadosCluster cluster = target.io().cluster();
    OsdCounters countedBefore = report == null ? OsdCounters.NONE : OsdCounters.of(cluster);
    try (CallRecording calls = report == null ? null : CallRecording.start()) {
      long start = System.nanoTime();
      CpuTime before = CpuTime.now();
      ReclaimResult result =
          operations
              .start(
                  target.name(),
                  "bench",
                  Runnable::run,
                  operation -> reclaimer.reclaim(target, load.plan(), operation))
              .join();
      double seconds = (System.nanoTime() - start) / 1e9;
      CpuTime after = CpuTime.now();
      OsdCounters counted = report == null ? OsdCounters.NONE : OsdCounters.of(cluster);
      if (result.outcome() != ReclaimResult.Outcome.DONE) {
        spec.commandLine().getErr().println(result.outcome() + ": " + result.reason());
        return Optional.empty();
      }
      if (!counted.missing().isEmpty()) {
        notes.add(counted.missing());
      }
      Optional<Latencies> latencies =
          calls == null ? Optional.empty() : calls.stop("rbd_aio_discard", target.image().image());
      if (calls != null && latencies.isEmpty()) {
        notes.add("librbd sparsifies in one call: there are no latencies of single objects");
      }
      return Optional.of(
          new BenchPoint(
              load.plan().concurrency(),
              load.plan().maxBytesPerSecond(),
              load.sharePercent(),
              objects,
              seconds,
              result.freed(),
              after.own(before),
              after.osds(before),
              latencies,
              counted.since(countedBefore)));
    }
  }

  private Map<String, String> setup(RadosCluster cluster, ImageRef image) {
    Map<String, String> setup = new LinkedHashMap<>();
    setup.put("at", Instant.now().truncatedTo(ChronoUnit.SECONDS).toString());
    setup.put("image", image.toString());
    setup.put("pool", pool);
    setup.put("method", method);
    setup.put("size", size);
    setup.put("fill", fill + " %");
    setup.put("object data", objectData + " bytes");
    setup.put("driver", Version.current());
    setup.put("cores", Integer.toString(Runtime.getRuntime().availableProcessors()));
    setup.put("java", Runtime.version().toString());
    setup.put("linux", System.getProperty("os.version") + " " + System.getProperty("os.arch"));
    if (report != null) {
      try {
        setup.put(
            "ceph",
            Json.mapper()
                .readTree(CephCommand.of("version", Map.of()).toMonitors(cluster).output())
                .path("version")
                .asText());
      } catch (CephException | IOException e) {
        notes.add("the cluster did not tell its version: " + e.getMessage());
      }
    }
    return setup;
  }

  private List<BenchLoad> loads() {
    List<BenchLoad> loads = new ArrayList<>();
    for (long rate : rates == null ? List.of(0L) : rates) {
      for (int concurrency : concurrencies) {
        loads.add(BenchLoad.of(method, concurrency, rate, 0));
      }
    }
    ConfigException.require(
        loads.size() <= MOST_LOADS,
        "--concurrency and --max-bytes-per-second make "
            + loads.size()
            + " loads; at most "
            + MOST_LOADS
            + " are measured");
    return loads;
  }

  static long bytes(String text) {
    Matcher matcher = SIZE.matcher(text);
    ConfigException.require(matcher.matches(), "--size must be like 10G or 1T, not " + text);
    int shift =
        switch (matcher.group(2)) {
          case "M" -> 20;
          case "G" -> 30;
          default -> 40;
        };
    long bytes = Long.parseLong(matcher.group(1)) << shift;
    ConfigException.require(
        bytes >= 64L << 20 && bytes <= MAX_SIZE && bytes % ScratchImage.OBJECT_BYTES == 0,
        "--size must be from 64M to 4T and a multiple of 4M");
    return bytes;
  }

  private Optional<String> progress() {
    return operations.running().stream()
        .findFirst()
        .map(o -> ProgressLine.bar("reclaiming: " + o.phase(), o.percent()))
        .or(() -> Optional.of(doing).filter(text -> !text.isEmpty()));
  }

  /** On SIGINT or SIGTERM: reclaim ends at the next safe point, then the image is removed. */
  private void stop(CountDownLatch ended) {
    interrupted = ended.getCount() > 0;
    operations.stop();
    operations.cancelAll();
    try {
      ended.await(10, TimeUnit.MINUTES); // to remove the image takes a while, too
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void print(ImageRef image, List<BenchPoint> points) {
    double most = points.stream().mapToDouble(BenchPoint::rate).max().orElse(1);
    output.print(
        spec.commandLine().getOut(),
        out -> {
          BenchPoint.printHead(out);
          points.forEach(point -> point.print(out, most));
        },
        root -> {
          root.put("image", image.toString()).put("method", method).put("size", size);
          ArrayNode array = root.putArray("points");
          points.forEach(point -> point.toJson(array.addObject()));
        });
  }
}
