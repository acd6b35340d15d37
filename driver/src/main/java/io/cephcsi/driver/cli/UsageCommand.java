package io.cephcsi.driver.cli;

import io.cephcsi.bindings.cls.AncestryCheck;
import io.cephcsi.bindings.cls.ImageDirectory;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.ImageUsage;
import io.cephcsi.bindings.cls.UsageMeter;
import io.cephcsi.bindings.cls.UsageQuery;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.app.ConfigException;
import io.cephcsi.driver.reclaim.TrimEstimate;
import io.cephcsi.driver.reclaim.TrimReport;
import io.cephcsi.driver.volume.VolumeException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code ceph-csi usage}: what images have allocated. */
@Command(
    name = "usage",
    description = "Shows what RBD images have allocated, with the numbers of rbd du.",
    mixinStandardHelpOptions = true,
    versionProvider = VersionLine.class,
    sortOptions = false,
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:done",
      "1:failed",
      "2:wrong command line or configuration",
      "3:some images could not be measured"
    })
final class UsageCommand extends ImageCommand {
  @Option(names = "--pool", paramLabel = "POOL[/NAMESPACE]", description = "all images of a pool")
  private @Nullable String pool;

  @Option(
      names = "--top",
      paramLabel = "N",
      description = "only those N that a trim would free most of; looks into every file system")
  private int top;

  @Option(
      names = "--reclaimable",
      description = "also what a trim would free; looks into every file system")
  private boolean reclaimable;

  @Option(
      names = "--exact",
      description = "count extents instead of whole objects: asks every object")
  private boolean exact;

  @Option(
      names = "--no-walk",
      description = "do not ask object by object where there is no valid object map")
  private boolean noWalk;

  @Option(
      names = "--workers",
      paramLabel = "N",
      description = "how many images are measured at once (default: 8)")
  private int workers = 8;

  private final AtomicInteger measured = new AtomicInteger();
  private volatile int total;

  @Override
  public Integer call() throws InterruptedException {
    ConfigException.require(
        pool == null || images().isEmpty(), "images and --pool exclude each other");
    ConfigException.require(
        pool != null || !images().isEmpty(), "neither images nor --pool are given");
    images().forEach(ImageRef::requireForm);
    ConfigException.require(top >= 0, "--top must not be negative");
    ConfigException.require(workers >= 1 && workers <= 128, "--workers must be 1 to 128");
    List<UsageReport.Row> rows = new ArrayList<>();
    try (RadosCluster cluster = connect();
        Pools pools = new Pools(cluster);
        ProgressLine progress = ProgressLine.start(this::progress, err())) {
      ExecutorService executor = Executors.newFixedThreadPool(workers);
      try {
        List<Future<UsageReport.Row>> running = new ArrayList<>();
        List<Callable<UsageReport.Row>> work = pool == null ? named(cluster, pools) : all(pools);
        total = work.size();
        for (Callable<UsageReport.Row> each : work) {
          running.add(executor.submit(() -> counted(each)));
        }
        for (Future<UsageReport.Row> each : running) {
          rows.add(each.get());
        }
      } catch (ExecutionException e) {
        throw e.getCause() instanceof CephException c ? c : new IllegalStateException(e.getCause());
      } finally {
        executor.shutdownNow();
      }
    }
    boolean failed = rows.stream().anyMatch(row -> row.usage().isEmpty());
    UsageReport report = new UsageReport(ranked(rows), reclaimable || top > 0);
    print(report::table, report::json);
    rows.stream()
        .filter(row -> row.usage().isEmpty())
        .forEach(row -> err().println(DriverMain.shown(row.name() + ": " + row.problem())));
    return failed ? EXIT_INCOMPLETE : 0;
  }

  private UsageReport.Row counted(Callable<UsageReport.Row> measurement) throws Exception {
    try {
      return measurement.call();
    } finally {
      measured.incrementAndGet();
    }
  }

  private Optional<String> progress() {
    int all = total;
    int done = measured.get();
    return all == 0
        ? Optional.empty()
        : Optional.of(ProgressLine.bar(done + " of " + all + " images", 100.0 * done / all));
  }

  private List<UsageReport.Row> ranked(List<UsageReport.Row> rows) {
    if (top == 0) {
      return rows;
    }
    return rows.stream()
        .sorted(Comparator.comparingLong(UsageReport.Row::rank).reversed())
        .limit(top)
        .toList();
  }

  private List<Callable<UsageReport.Row>> all(Pools pools) {
    String[] parts = String.valueOf(pool).split("/", 2);
    String namespace = parts.length > 1 ? parts[1] : connection().defaultNamespace();
    RbdPool images = pools.open(parts[0], namespace);
    List<Callable<UsageReport.Row>> work = new ArrayList<>();
    boolean all =
        ImageDirectory.all(
            images.io(),
            (name, id) -> work.add(() -> row(new ImageRef(parts[0], namespace, name), images, id)));
    if (!all) {
      String why = "a key of the pool's directory keeps what follows from being read";
      work.add(() -> UsageReport.Row.failed(String.valueOf(pool), why));
    }
    return work;
  }

  private List<Callable<UsageReport.Row>> named(RadosCluster cluster, Pools pools) {
    return images().stream()
        .<Callable<UsageReport.Row>>map(text -> () -> named(text, cluster, pools))
        .toList();
  }

  private UsageReport.Row named(String text, RadosCluster cluster, Pools pools) {
    try {
      ImageRef ref = resolve(text, cluster);
      RbdPool images = pools.open(ref.pool(), ref.namespace());
      return ImageId.find(images, ref.image())
          .map(id -> row(ref, images, id))
          .orElseGet(() -> UsageReport.Row.failed(text, "there is no such image"));
    } catch (RuntimeException e) {
      return failed(text, e);
    }
  }

  /** What keeps one image from being measured keeps the others from nothing. */
  private static UsageReport.Row failed(String name, RuntimeException e) {
    if (e instanceof CephException.Blocklisted) {
      throw e; // it is not the image
    }
    boolean told =
        e instanceof CephException
            || e instanceof VolumeException
            || e instanceof UncheckedIOException;
    return UsageReport.Row.failed(name, told ? String.valueOf(e.getMessage()) : e.toString());
  }

  private UsageReport.Row row(ImageRef ref, RbdPool images, String id) {
    UsageQuery query = new UsageQuery(exact, false, noWalk ? 0 : Long.MAX_VALUE);
    try {
      ImageId.require(images.io(), id);
      Optional<ImageUsage> usage = new UsageMeter(images).measure(id, query);
      if (usage.isEmpty()) {
        return UsageReport.Row.failed(
            ref.toString(), "it has no valid object map, or one of more than 8 MiB");
      }
      return new UsageReport.Row(ref.toString(), usage, estimate(images, id), "");
    } catch (RuntimeException e) {
      return failed(ref.toString(), e);
    }
  }

  private Optional<TrimReport> estimate(RbdPool images, String id) {
    if (!reclaimable && top == 0) {
      return Optional.empty();
    }
    AncestryCheck.requireOpenable(images.io(), id);
    try (RbdImage image = images.openByIdReadOnly(id)) {
      return Optional.of(TrimEstimate.of(image));
    }
  }

  /** The pools that were opened, closed with this. */
  private static final class Pools implements AutoCloseable {
    private final RadosCluster cluster;
    private final List<IoContext> opened = new ArrayList<>();

    Pools(RadosCluster cluster) {
      this.cluster = cluster;
    }

    synchronized RbdPool open(String pool, String namespace) {
      for (IoContext io : opened) {
        if (io.pool().equals(pool) && io.namespace().equals(namespace)) {
          return new RbdPool(io);
        }
      }
      IoContext io = cluster.openPool(pool, namespace);
      opened.add(io);
      return new RbdPool(io);
    }

    @Override
    public synchronized void close() {
      for (IoContext io : opened) {
        io.close();
      }
    }
  }
}
