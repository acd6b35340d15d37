package io.cephcsi.benchmarks;

import com.sun.management.ThreadMXBean;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.UsageMeter;
import io.cephcsi.bindings.cls.UsageQuery;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.bindings.rbd.DiscardPipeline;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.driver.tracker.RadosTrackerStore;
import io.cephcsi.driver.tracker.ReferenceTracker;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.UUID;

/**
 * How many bytes does the calling thread allocate in the heap for one step of a hot path? Must not
 * grow with the work, so each is measured for a small and a large one.
 */
final class AllocationQuestion implements Question {
  private static final String IMAGE = "bench-allocation";
  private static final byte[] VALUE = new byte[16];

  private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  @Override
  public List<Finding> ask(BenchSetup setup) {
    ClusterState state = new ClusterState();
    state.connect(setup.conf());
    try (RbdImages images = RbdImages.connect(setup.conf())) {
      return List.of(
          finding("build", "a compound write", perStep(20_000, AllocationQuestion::build)),
          finding("tracker", "a change of a tracker of 2 references", tracker(state, 1)),
          finding("tracker-500", "the same of 500 references", tracker(state, 499)),
          finding("discard", "a discard of 200", discard(images, 200)),
          finding("discard-2000", "a discard of 2,000", discard(images, 2000)),
          finding("usage", "usage of 64 GiB by object map", usage(images, 64L << 30)),
          finding("usage-1t", "usage of 1 TiB by object map", usage(images, 1L << 40)));
    } finally {
      state.disconnect();
    }
  }

  private static Finding finding(String id, String what, double bytes) {
    return Finding.time("allocated-" + id, "allocated for " + what, "bytes", bytes);
  }

  private double perStep(int steps, Runnable step) {
    for (int i = 0; i < steps; i++) {
      step.run();
    }
    long before = threads.getCurrentThreadAllocatedBytes();
    for (int i = 0; i < steps; i++) {
      step.run();
    }
    return (threads.getCurrentThreadAllocatedBytes() - before) / (double) steps;
  }

  private static void build() {
    try (WriteOperation op = new WriteOperation()) {
      op.omapCompare("csi.volume.pvc-1", VALUE);
      op.omapSet("csi.volume.pvc-2", VALUE);
      op.setXattr("csi.ceph.com/rt-version", VALUE);
    }
  }

  private double tracker(ClusterState state, int others) {
    String id = "0001-0003-bar-0000000000000001-" + UUID.randomUUID();
    String key = "csi-vol-" + UUID.randomUUID();
    ReferenceTracker tracker = new ReferenceTracker(new RadosTrackerStore(state.io));
    tracker.add(id, List.of(id));
    for (int i = 1; i < others; i++) {
      tracker.add(id, List.of("csi-vol-" + i));
    }
    double bytes =
        perStep(
                300,
                () -> {
                  tracker.add(id, List.of(id, key));
                  tracker.remove(id, key);
                })
            / 2;
    for (int i = 1; i < others; i++) {
      tracker.remove(id, "csi-vol-" + i);
    }
    tracker.remove(id, id);
    return bytes;
  }

  private double discard(RbdImages images, int objects) {
    images.make(IMAGE, (long) objects * RbdImages.OBJECT_BYTES);
    try (RbdImage image = images.pool.open(IMAGE)) {
      return perStep(
              2,
              () -> {
                try (DiscardPipeline pipeline = image.discardPipeline(16)) {
                  for (int i = 0; i < objects; i++) {
                    pipeline.discard((long) i * RbdImages.OBJECT_BYTES, RbdImages.OBJECT_BYTES);
                  }
                  pipeline.drain();
                }
              })
          / objects;
    } finally {
      images.remove(IMAGE);
    }
  }

  private double usage(RbdImages images, long size) {
    images.make(IMAGE, size);
    try {
      UsageMeter meter = new UsageMeter(images.pool);
      String id = ImageId.find(images.pool, IMAGE).orElseThrow();
      return perStep(50, () -> require(meter.measure(id, UsageQuery.QUICK).isPresent()));
    } finally {
      images.remove(IMAGE);
    }
  }

  private static void require(boolean measured) {
    if (!measured) {
      throw new IllegalStateException("the image is gone");
    }
  }
}
