package io.cephcsi.driver.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.DiscardPipeline;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.reclaim.fs.BlockReader;
import io.cephcsi.driver.reclaim.fs.FileSystems;
import io.cephcsi.driver.reclaim.fs.Inspection;
import io.cephcsi.driver.testing.FileSystemImage;
import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What {@code reclaim --pool} costs beside bare discards of the same objects. {@code
 * CEPH_CSI_TEST_IMAGES=1000} says how many images, {@code CEPH_CSI_TEST_MIB} how large, {@code
 * CEPH_CSI_TEST_RECLAIMS} how many at once.
 */
class PoolReclaimTimesIT {
  private static final int IMAGES = number("CEPH_CSI_TEST_IMAGES", 40);
  private static final int AT_ONCE = number("CEPH_CSI_TEST_RECLAIMS", 2);
  private static final int IN_FLIGHT = 16; // of a trim
  private static final int OBJECT = 4 << 20;
  private static final int CHUNK = 64 << 10;
  private static final long SIZE = (long) number("CEPH_CSI_TEST_MIB", 64) << 20;

  @TempDir private Path folder;

  private static int number(String variable, int usual) {
    return Integer.parseInt(System.getenv().getOrDefault(variable, Integer.toString(usual)));
  }

  @Test
  void aPoolOfSmallImagesIsReclaimed() throws Exception {
    TestCluster ceph = TestCluster.shared();
    FileSystemImage golden = FileSystemImage.make(folder, "ext4", SIZE, "-b", "4096");
    List<Long> free = freeObjects(golden.file());
    String place = ceph.pool() + "/n" + UUID.randomUUID();
    ceph.rbd("namespace", "create", place);
    try (RadosCluster cluster = ceph.connect();
        IoContext io = cluster.openPool(ceph.pool(), place.split("/", -1)[1])) {
      RbdPool pool = new RbdPool(io);
      create(pool, golden.file());
      fill(pool, free);
      double[] bare = bare(pool, free);
      fill(pool, free);
      String[] command = {
        "reclaim",
        "--conf",
        ceph.conf().toString(),
        "--pool",
        place,
        "--reclaims",
        Integer.toString(AT_ONCE),
        "--estimate-rate",
        "0",
        "--state",
        folder.resolve("state").toString(),
        "-o",
        "json"
      };
      List<String> dry = new ArrayList<>(Arrays.asList(command));
      dry.add("--dry-run");
      double estimate = seconds(Program.run(dry.toArray(new String[0])), "not_begun", free.size());
      double trim = seconds(Program.run(command), "done", free.size());
      System.out.printf(
          "reclaim --pool of %d images, %d objects each, %d at once: estimate %.1f s, trim %.1f s;"
              + " bare discards %.1f s, with the images opened %.1f s%n",
          IMAGES, free.size(), AT_ONCE, estimate, trim, bare[0], bare[1]);
    }
  }

  private static double seconds(Program run, String outcome, int objects) throws IOException {
    assertThat(run.exitCode()).as("%s", run.err()).isZero();
    JsonNode report = PoolStates.JSON.readTree(run.out());
    assertThat(report.path("images")).hasSize(IMAGES);
    for (JsonNode image : report.path("images")) {
      assertThat(image.path("outcome").asText()).isEqualTo(outcome);
      assertThat(image.path("reclaimableObjects").asInt()).isEqualTo(objects);
    }
    return report.path("seconds").asDouble();
  }

  /** The objects that the file system does not use at all. */
  private static List<Long> freeObjects(Path file) throws IOException {
    List<Long> objects = new ArrayList<>();
    try (FileChannel channel = FileChannel.open(file)) {
      Inspection inspection = FileSystems.inspect(new File(channel, SIZE));
      ((Inspection.Clean) inspection)
          .freeRanges(
              range -> {
                long first = (range.offset() + OBJECT - 1) / OBJECT;
                for (long object = first; (object + 1) * OBJECT <= range.end(); object++) {
                  objects.add(object);
                }
              });
    }
    assertThat(objects).hasSizeGreaterThan(5);
    return objects;
  }

  private record File(FileChannel channel, long size) implements BlockReader {
    @Override
    public void read(long offset, ByteBuffer into) throws IOException {
      for (long at = offset; into.hasRemaining(); ) {
        at += channel.read(into, at);
      }
    }
  }

  private static void create(RbdPool pool, Path file) throws Exception {
    List<byte[]> chunks = new ArrayList<>();
    try (FileChannel channel = FileChannel.open(file)) {
      for (long at = 0; at < SIZE; at += CHUNK) {
        byte[] chunk = new byte[CHUNK];
        channel.read(ByteBuffer.wrap(chunk), at);
        chunks.add(Arrays.equals(chunk, new byte[CHUNK]) ? new byte[0] : chunk);
      }
    }
    Set<ImageFeature> features =
        Set.of(
            ImageFeature.LAYERING,
            ImageFeature.EXCLUSIVE_LOCK,
            ImageFeature.OBJECT_MAP,
            ImageFeature.FAST_DIFF);
    each(
        8,
        name -> {
          pool.create(name, SIZE, ImageOptions.builder().features(features).build());
          try (RbdImage image = pool.open(name)) {
            for (int i = 0; i < chunks.size(); i++) {
              if (chunks.get(i).length > 0) {
                image.write((long) i * CHUNK, chunks.get(i));
              }
            }
          }
        });
  }

  private static void fill(RbdPool pool, List<Long> objects) throws Exception {
    byte[] data = new byte[4096];
    new Random(1).nextBytes(data);
    each(
        8,
        name -> {
          try (RbdImage image = pool.open(name)) {
            objects.forEach(object -> image.write(object * OBJECT, data));
          }
        });
  }

  /** Seconds of discards, of all threads as one after the other; and with the images opened. */
  private static double[] bare(RbdPool pool, List<Long> objects) throws Exception {
    AtomicLong discarding = new AtomicLong();
    long start = System.nanoTime();
    each(
        AT_ONCE,
        name -> {
          try (RbdImage image = pool.open(name)) {
            image.lock().acquire();
            long begin = System.nanoTime();
            try (DiscardPipeline pipeline = image.discardPipeline(IN_FLIGHT)) {
              objects.forEach(object -> pipeline.discard(object * OBJECT, OBJECT));
              pipeline.drain();
            }
            discarding.addAndGet(System.nanoTime() - begin);
          }
        });
    return new double[] {discarding.get() / 1e9 / AT_ONCE, (System.nanoTime() - start) / 1e9};
  }

  private interface Work {
    void on(String name);
  }

  private static void each(int threads, Work work) throws Exception {
    ExecutorService executor = Executors.newFixedThreadPool(threads);
    try {
      List<Future<?>> running = new ArrayList<>();
      for (int i = 0; i < IMAGES; i++) {
        String name = "i" + i;
        running.add(executor.submit(() -> work.on(name)));
      }
      for (Future<?> each : running) {
        each.get();
      }
    } finally {
      executor.shutdownNow();
    }
  }
}
