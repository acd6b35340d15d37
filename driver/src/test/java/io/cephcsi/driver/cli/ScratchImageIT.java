package io.cephcsi.driver.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.UsageMeter;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.reclaim.TrimEstimate;
import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ScratchImageIT {
  private static final long OBJECT = ScratchImage.OBJECT_BYTES;

  private final String name = "csi-bench-" + UUID.randomUUID();
  private RadosCluster cluster;
  private IoContext io;
  private RbdPool pool;

  @BeforeEach
  void connect() {
    TestCluster ceph = TestCluster.shared();
    cluster = ceph.connect();
    io = cluster.openPool(ceph.otherPool());
    pool = new RbdPool(io);
  }

  @AfterEach
  void disconnect() {
    io.close();
    cluster.close();
  }

  private long used() {
    return new UsageMeter(pool)
        .byObjectMap(ImageId.find(pool, name).orElseThrow())
        .orElseThrow()
        .headBytes();
  }

  @Test
  void fillingEndsBetweenTwoObjects() throws IOException {
    AtomicInteger written = new AtomicInteger();
    try (ScratchImage scratch = ScratchImage.make(io, name, 50 * OBJECT, false, () -> false)) {
      scratch.fill(50, new byte[512], i -> written.incrementAndGet(), () -> written.get() == 3);
      assertThat(written).hasValue(3);
      assertThat(used()).isEqualTo(3 * OBJECT);
    }
    assertThat(ImageId.find(pool, name)).isEmpty();
  }

  @Test
  void theCopyOfTheFileSystemEndsBetweenTwoParts() throws IOException {
    try (ScratchImage scratch = ScratchImage.make(io, name, 64 * OBJECT, true, () -> true)) {
      assertThat(scratch.freeObjects()).isPositive();
      assertThat(used()).isZero();
    }
  }

  /** 1 TiB of holes in parts of 64 KiB would be 16 million of them. */
  @Test
  void holesOfTheFileSystemAreNotRead() throws IOException {
    AtomicInteger parts = new AtomicInteger();
    try (ScratchImage scratch =
        ScratchImage.make(
            io,
            name,
            1L << 40,
            true,
            () -> {
              parts.incrementAndGet();
              return false;
            })) {
      assertThat(scratch.freeObjects()).isGreaterThan(200_000);
      assertThat(parts.get()).isBetween(10, 1_000_000);
      try (RbdImage image = pool.openReadOnly(name)) {
        assertThat(TrimEstimate.of(image).isSkipped()).isFalse();
        assertThat(TrimEstimate.of(image).fileSystem()).isEqualTo("ext4");
      }
    }
  }
}
