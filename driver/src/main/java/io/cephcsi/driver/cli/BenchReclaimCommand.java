package io.cephcsi.driver.cli;

import com.fasterxml.jackson.databind.node.ArrayNode;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.app.ConfigException;
import io.cephcsi.driver.app.DriverConfig;
import io.cephcsi.driver.metrics.DriverMetrics;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.reclaim.Admission;
import io.cephcsi.driver.reclaim.ReclaimPlan;
import io.cephcsi.driver.reclaim.ReclaimResult;
import io.cephcsi.driver.reclaim.SpaceReclaimer;
import io.cephcsi.driver.volume.VolumeException;
import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
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
    exitCodeList = {"0:done", "1:failed or interrupted", "2:wrong command line or configuration"})
final class BenchReclaimCommand implements Callable<Integer> {
  private static final Pattern SIZE = Pattern.compile("(\\d{1,6})([MGT])(i?B)?");
  private static final Duration UNLIMITED = Duration.ofDays(365);
  private static final long MAX_SIZE = 4L << 40;
  private static final int BAR = 30;

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
      description = "how much is worked on in a second; 0 for no limit")
  private List<Long> rates = List.of(0L);

  @Option(
      names = {"-o", "--output"},
      paramLabel = "FORMAT",
      description = "table or json")
  private OutputFormat output = OutputFormat.table;

  private final OperationRegistry operations = new OperationRegistry(UNLIMITED);
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
    List<ReclaimPlan> plans = plans();
    String[] place = pool.split("/", -1);
    ConfigException.require(
        place.length <= 2 && !place[0].isEmpty(), "--pool must be POOL or POOL/NAMESPACE");
    String namespace = place.length == 2 ? place[1] : connection.defaultNamespace();
    ImageRef image = new ImageRef(place[0], namespace, "csi-bench-" + UUID.randomUUID());

    CountDownLatch ended = new CountDownLatch(1);
    Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(ended), "stop"));
    List<Point> points = new ArrayList<>();
    try (RadosCluster cluster = connection.connect(Map.of());
        IoContext io = cluster.openPool(image.pool(), image.namespace());
        ProgressLine progress = ProgressLine.start(this::progress, spec.commandLine().getErr())) {
      spec.commandLine().getErr().println("the image is " + image);
      doing = "making the image";
      try (ScratchImage scratch = ScratchImage.make(io, image.image(), bytes, trim)) {
        measure(scratch, new CliTarget(connection, io, image), plans, trim, points);
        doing = "removing the image";
      }
    } finally {
      ended.countDown();
    }
    print(image, points);
    return interrupted ? DriverMain.EXIT_FAILED : 0;
  }

  private void measure(
      ScratchImage scratch,
      CliTarget target,
      List<ReclaimPlan> plans,
      boolean trim,
      List<Point> points)
      throws IOException {
    int objects = Math.max(1, (int) ((long) scratch.freeObjects() * fill / 100));
    byte[] data = new byte[objectData];
    if (trim) {
      new Random(1).nextBytes(data);
    }
    SpaceReclaimer reclaimer =
        new SpaceReclaimer(new DriverMetrics(), new Admission(DriverConfig.RECLAIMS_PER_CLUSTER));
    for (ReclaimPlan plan : plans) {
      scratch.fill(objects, data, i -> doing = ProgressLine.bar("filling", 100.0 * i / objects));
      doing = "";
      if (interrupted) {
        return;
      }
      long start = System.nanoTime();
      CpuTime before = CpuTime.now();
      ReclaimResult result =
          operations
              .start(
                  target.name(),
                  "bench",
                  Runnable::run,
                  operation -> reclaimer.reclaim(target, plan, operation))
              .join();
      double seconds = (System.nanoTime() - start) / 1e9;
      CpuTime after = CpuTime.now();
      if (result.outcome() == ReclaimResult.Outcome.DONE) {
        points.add(
            new Point(
                plan, objects, seconds, result.freed(), after.own(before), after.osds(before)));
      } else {
        spec.commandLine().getErr().println(result.outcome() + ": " + result.reason());
      }
    }
  }

  private List<ReclaimPlan> plans() {
    List<ReclaimPlan> plans = new ArrayList<>();
    for (long rate : rates) {
      for (int concurrency : concurrencies) {
        Map<String, String> parameters = new LinkedHashMap<>();
        parameters.put("reclaim.method", method);
        parameters.put("reclaim.concurrency", Integer.toString(concurrency));
        if (rate > 0) {
          parameters.put("reclaim.maxBytesPerSecond", Long.toString(rate));
        }
        try {
          plans.add(ReclaimPlan.parse(parameters));
        } catch (VolumeException e) {
          throw new ConfigException(String.valueOf(e.getMessage()), e);
        }
      }
    }
    return plans;
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
      ended.await(60, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void print(ImageRef image, List<Point> points) {
    double most = points.stream().mapToDouble(Point::rate).max().orElse(1);
    output.print(
        spec.commandLine().getOut(),
        out -> {
          out.printf(
              "%11s %14s %8s %9s %10s %12s %9s %9s%n",
              "concurrency",
              "limit",
              "objects",
              "seconds",
              "objects/s",
              "freed/s",
              "CPU s",
              "OSD CPU s");
          points.forEach(point -> point.print(out, most));
        },
        root -> {
          root.put("image", image.toString()).put("method", method).put("size", size);
          ArrayNode array = root.putArray("points");
          points.forEach(
              point -> {
                var node =
                    array
                        .addObject()
                        .put("concurrency", point.plan.concurrency())
                        .put("maxBytesPerSecond", point.plan.maxBytesPerSecond())
                        .put("objects", point.objects)
                        .put("seconds", point.seconds)
                        .put("objectsPerSecond", point.rate())
                        .put("freedBytes", point.freed)
                        .put("cpuSeconds", point.cpu);
                point.osdCpu.ifPresent(seconds -> node.put("osdCpuSeconds", seconds));
              });
        });
  }

  /** One reclaim. */
  private record Point(
      ReclaimPlan plan,
      int objects,
      double seconds,
      long freed,
      double cpu,
      OptionalDouble osdCpu) {
    double rate() {
      return objects / seconds;
    }

    void print(PrintWriter out, double most) {
      out.printf(
          Locale.ROOT,
          "%11d %14s %8d %9.2f %10.0f %12s %9.2f %9s  %s%n",
          plan.concurrency(),
          plan.maxBytesPerSecond() == 0
              ? "none"
              : ImageCommand.bytes(plan.maxBytesPerSecond()) + "/s",
          objects,
          seconds,
          rate(),
          ImageCommand.bytes((long) (freed / seconds)),
          cpu,
          osdCpu.isPresent() ? String.format(Locale.ROOT, "%.2f", osdCpu.getAsDouble()) : "unknown",
          "#".repeat(Math.max(1, (int) Math.round(BAR * rate() / most))));
    }
  }
}
