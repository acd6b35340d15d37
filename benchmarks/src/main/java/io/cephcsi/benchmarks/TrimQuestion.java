package io.cephcsi.benchmarks;

import io.cephcsi.bindings.cls.TrashDirectory;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.TrashEntry;
import io.cephcsi.driver.metrics.DriverMetrics;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.reclaim.Admission;
import io.cephcsi.driver.reclaim.ReclaimPlan;
import io.cephcsi.driver.reclaim.ReclaimResult;
import io.cephcsi.driver.reclaim.ReclaimTarget;
import io.cephcsi.driver.reclaim.SpaceReclaimer;
import io.cephcsi.driver.reclaim.TrimEstimate;
import io.cephcsi.driver.reclaim.fs.BlockReader;
import io.cephcsi.driver.reclaim.fs.FileSystems;
import io.cephcsi.driver.reclaim.fs.Inspection;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;

/**
 * How fast is an offline trim, of the plan and of all, beside the bare pipeline in C on the same
 * objects? The image holds an ext4 of 100 GiB, made by mkfs through a FUSE export of qemu, and
 * objects at random places that the file system does not use.
 */
final class TrimQuestion implements Question {
  private static final String IMAGE = "bench-trim";
  private static final int IN_FLIGHT = 16;

  @Override
  public List<Finding> ask(BenchSetup setup) throws IOException, InterruptedException {
    int objects = setup.scaled(20_000, 6_000);
    int rounds = 3;
    double[] plans = new double[rounds];
    double[] rates = new double[rounds];
    double[] c = new double[rounds];
    Path list = Files.createTempFile("offsets", "");
    try (RbdImages images = RbdImages.connect(setup.conf())) {
      images.make(IMAGE, 100L << 30);
      makeFileSystem(images.conf);
      long[] offsets = freeObjects(images, objects);
      StringBuilder lines = new StringBuilder();
      for (long offset : offsets) {
        lines.append(offset).append('\n');
      }
      Files.writeString(list, lines);
      for (int round = -1; round < rounds; round++) { // the first one is the interpreter's
        int at = Math.max(round, 0);
        images.write(IMAGE, offsets, new byte[512]);
        plans[at] = plan(images, offsets.length);
        rates[at] = offsets.length / setup.seconds(() -> trim(images, offsets.length));
        images.write(IMAGE, offsets, new byte[512]);
        c[at] =
            Baseline.run(
                setup.program("discards"),
                images.conf.toString(),
                RbdImages.POOL,
                IMAGE,
                Integer.toString(IN_FLIGHT),
                list.toString());
      }
      images.remove(IMAGE);
    } finally {
      Files.delete(list);
    }
    String what = "offline trim of an ext4 of 100 GiB, " + objects + " objects";
    return List.of(
        Finding.time("trim-plan", what + ": the plan", "ms", plans),
        Finding.rate("trim", what + ": all of it", "objects/s", rates)
            .beside(Finding.C, c)
            .atLeast(Finding.C, 0.9));
  }

  private static void makeFileSystem(Path conf) throws IOException, InterruptedException {
    String script =
        """
        set -e
        w=$(mktemp -d)
        touch $w/image
        qemu-storage-daemon --pidfile $w/pid --daemonize \\
          --blockdev driver=rbd,node-name=n,pool=%s,image=%s,conf=%s \\
          --export type=fuse,id=e,node-name=n,mountpoint=$w/image,writable=on
        trap 'kill $(cat $w/pid)' EXIT
        mkfs.ext4 -q -F -E nodiscard $w/image
        """
            .formatted(RbdImages.POOL, IMAGE, conf);
    Baseline.run("bash", "-c", script);
    try (RbdImages images = RbdImages.connect(conf)) {
      for (int i = 0; i < 100 && !isUnused(images); i++) {
        Thread.sleep(100); // until qemu has closed it
      }
    }
  }

  private static boolean isUnused(RbdImages images) {
    try (RbdImage image = images.pool.openReadOnly(IMAGE)) {
      return image.watchers().isEmpty();
    }
  }

  /** Whole objects that the file system does not use, ascending, drawn from all of them. */
  private static long[] freeObjects(RbdImages images, int count) throws IOException {
    List<Long> free = new ArrayList<>();
    try (RbdImage image = images.pool.openReadOnly(IMAGE)) {
      Inspection inspection = FileSystems.inspect(new Reader(image));
      if (!(inspection instanceof Inspection.Clean clean)) {
        throw new IOException("not clean: " + inspection);
      }
      int object = RbdImages.OBJECT_BYTES;
      clean.freeRanges(
          range -> {
            for (long at = (range.offset() + object - 1) / object * object;
                at + object <= range.end();
                at += object) {
              free.add(at);
            }
          });
    }
    java.util.Collections.shuffle(free, new Random(1));
    return free.stream().limit(count).mapToLong(Long::longValue).sorted().toArray();
  }

  private static double plan(RbdImages images, int objects)
      throws IOException, InterruptedException {
    long[] bytes = new long[1];
    double millis;
    try (RbdImage image = images.pool.openReadOnly(IMAGE)) {
      millis = Baseline.millis(() -> bytes[0] = TrimEstimate.of(image).discardedBytes());
    }
    require(bytes[0] >= (long) objects * RbdImages.OBJECT_BYTES, "the plan: " + bytes[0]);
    return millis;
  }

  private static void trim(RbdImages images, int objects) {
    SpaceReclaimer reclaimer = new SpaceReclaimer(new DriverMetrics(), new Admission(4));
    ReclaimPlan plan = ReclaimPlan.parse(Map.of("reclaim.method", "trim"));
    ReclaimResult result =
        new OperationRegistry(Duration.ofHours(1))
            .start(
                IMAGE,
                "trim",
                Runnable::run,
                operation -> reclaimer.reclaim(new Target(images), plan, operation))
            .join();
    require(
        result.outcome() == ReclaimResult.Outcome.DONE
            && result.freed() >= (long) objects * RbdImages.OBJECT_BYTES,
        "the trim: " + result);
  }

  private static void require(boolean holds, String otherwise) {
    if (!holds) {
      throw new IllegalStateException(otherwise);
    }
  }

  /** Reads one after the other: what is read here is not timed. */
  private record Reader(RbdImage image) implements BlockReader {
    @Override
    public long size() {
      return image.size();
    }

    @Override
    public void read(long offset, ByteBuffer into) {
      into.put(image.read(offset, into.remaining()));
    }
  }

  /** The image, as the command line reaches it. */
  private record Target(RbdImages images) implements ReclaimTarget {
    @Override
    public String name() {
      return IMAGE;
    }

    @Override
    public RbdImage openReadOnly() {
      return images.pool.openReadOnly(IMAGE);
    }

    @Override
    public List<String> nodes() {
      return List.of();
    }

    @Override
    public Optional<TrashEntry> inTrash() {
      return TrashDirectory.named(images.pool.io(), IMAGE);
    }

    @Override
    public Writable open(Map<String, String> options) {
      RadosCluster cluster = RbdImages.connection(images.conf);
      IoContext io = cluster.openPool(RbdImages.POOL);
      return new Open(cluster, io, new RbdPool(io).open(IMAGE));
    }
  }

  private record Open(RadosCluster cluster, IoContext io, RbdImage image)
      implements ReclaimTarget.Writable {
    @Override
    public long clientId() {
      return cluster.instanceId();
    }

    @Override
    public void close() {
      image.close();
      io.close();
      cluster.close();
    }
  }
}
