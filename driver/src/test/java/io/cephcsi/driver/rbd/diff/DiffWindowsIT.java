package io.cephcsi.driver.rbd.diff;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.volume.Extent;
import io.cephcsi.testing.TestCluster;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Diffs of librbd with more extents than are kept in memory. */
class DiffWindowsIT {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final int BLOCK = 4096;
  private static final int MOST = 100;
  private static final long SIZE = 24 << 20;
  private static final long CHANGED = 8 << 20;

  private final String name = "windows-" + UUID.randomUUID();
  private RadosCluster connection;
  private IoContext io;
  private RbdPool pool;

  @BeforeEach
  void connect() {
    connection = CLUSTER.connect();
    io = connection.openPool(CLUSTER.pool());
    pool = new RbdPool(io);
  }

  @AfterEach
  void remove() {
    CLUSTER.rbd("snap", "purge", CLUSTER.pool() + "/" + name, "--no-progress");
    CLUSTER.rbd("rm", CLUSTER.pool() + "/" + name, "--no-progress");
    io.close();
    connection.close();
  }

  private void create(boolean striped) {
    ImageOptions.Builder options = ImageOptions.builder();
    if (striped) {
      options.stripeUnit(65536).stripeCount(3);
    }
    pool.create(name, SIZE, options.build());
  }

  private void onImage(Consumer<RbdImage> work) {
    try (RbdImage image = pool.open(name)) {
      work.accept(image);
      image.flush();
    }
  }

  private static byte[] filled(int length, int value) {
    byte[] bytes = new byte[length];
    Arrays.fill(bytes, (byte) value);
    return bytes;
  }

  /** A snapshot of an image that is full, every other block of its beginning written, another. */
  private void changeEveryOtherBlock() {
    onImage(
        image -> {
          image.write(0, filled((int) SIZE, 1));
          image.flush();
          image.snapshots().create("before");
          for (long at = BLOCK; at < CHANGED; at += 2 * BLOCK) {
            image.write(at, filled(BLOCK, 2));
          }
          image.flush();
          image.snapshots().create("after");
        });
  }

  /** The changed blocks from an offset on. */
  private static List<Extent> changed(long from) {
    List<Extent> extents = new ArrayList<>();
    for (long at = BLOCK; at < CHANGED; at += 2 * BLOCK) {
      long begin = Math.max(at, from);
      if (begin < at + BLOCK) {
        extents.add(new Extent(begin, at + BLOCK - begin));
      }
    }
    return extents;
  }

  private RbdImage at(String snapshot) {
    RbdImage image = pool.openReadOnly(name);
    image.snapshots().setActive(snapshot);
    return image;
  }

  /** In a striped image a window is less than what lies in a set of objects. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void manyChangesAreToldInOrderAndNeverKeptAtOnce(boolean striped) {
    create(striped);
    changeEveryOtherBlock();
    try (RbdImage after = at("after")) {
      List<Integer> sizes = new ArrayList<>();
      new DiffWindows(MOST)
          .walk(
              0,
              SIZE,
              (offset, length, visitor) ->
                  after.diff(Optional.of("before"), offset, length, false, false, visitor),
              () -> {},
              found -> sizes.add(found.size()));
      assertThat(sizes.stream().mapToInt(size -> size).sum()).isEqualTo(1024);
      assertThat(sizes).hasSizeGreaterThan(1024 / MOST).allMatch(size -> size <= MOST);

      for (long from : new long[] {0, BLOCK + 512, 5 << 20, CHANGED, SIZE}) {
        List<List<Extent>> batches = new ArrayList<>();
        ExtentBatches put =
            new ExtentBatches(SIZE, from, 7, (capacity, extents) -> batches.add(extents));
        RbdSnapshotMetadata.walk(after, Optional.of("before"), from, new DiffWindows(MOST), put);
        assertThat(batches.stream().mapToInt(List::size).filter(size -> size == 7).count())
            .as("full batches, handed on before the end")
            .isEqualTo(changed(from).size() / 7);
        put.finish();
        assertThat(batches.stream().flatMap(List::stream)).isEqualTo(changed(from));
      }
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void whatIsAllocatedIsTheSameInSmallWindows(boolean striped) {
    create(striped);
    onImage(
        image -> {
          image.write(0, filled(4 << 20, 1));
          image.write(17 << 20, filled(4 << 20, 1));
        });
    try (RbdImage image = pool.openReadOnly(name)) {
      List<Extent> usual = allocated(image, new DiffWindows());
      assertThat(usual).isNotEmpty();
      assertThat(allocated(image, new DiffWindows(2))).isEqualTo(usual);
    }
  }

  private static List<Extent> allocated(RbdImage image, DiffWindows windows) {
    List<Extent> found = new ArrayList<>();
    ExtentBatches put =
        new ExtentBatches(SIZE, 0, 1000, (capacity, extents) -> found.addAll(extents));
    RbdSnapshotMetadata.walk(image, Optional.empty(), 0, windows, put);
    put.finish();
    return found;
  }

  /** Where no object maps tell what changed, all that is allocated is compared. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aComparisonFindsTheSame(boolean striped) {
    create(striped);
    changeEveryOtherBlock();
    try (RbdImage then = at("before");
        RbdImage now = at("after")) {
      for (long from : new long[] {0, BLOCK + 512, 5 << 20}) {
        List<List<Extent>> batches = new ArrayList<>();
        ExtentBatches put =
            new ExtentBatches(SIZE, from, 7, (capacity, extents) -> batches.add(extents));
        new SnapshotComparison(then, now, put).compare(Optional.empty(), new DiffWindows(3), from);
        put.finish();
        assertThat(batches.stream().flatMap(List::stream)).isEqualTo(changed(from));
      }
    }
  }
}
