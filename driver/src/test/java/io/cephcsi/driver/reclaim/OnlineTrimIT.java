package io.cephcsi.driver.reclaim;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.UsageMeter;
import io.cephcsi.bindings.cls.UsageQuery;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.testing.FileSystemImage;
import io.cephcsi.testing.Commands;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Compares with the kernel's fstrim of the same file system in an equal image: exported through
 * FUSE by qemu, mounted on a loop device. Small files were deleted all over it, so that most free
 * ranges are parts of objects.
 */
class OnlineTrimIT extends ReclaimCase {
  private static final long SIZE = 320L * MIB;

  @TempDir Path folder;
  private final List<String> pools = new ArrayList<>();

  @BeforeEach
  void makePools() {
    for (String kind : List.of("offline", "online")) {
      String own = kind + "-" + UUID.randomUUID();
      ceph.ceph("osd", "pool", "create", own, "8");
      ceph.rbd("pool", "init", own);
      pools.add(own);
    }
  }

  @AfterEach
  void removePools() {
    for (String own : pools) {
      ceph.ceph("osd", "pool", "rm", own, own, "--yes-i-really-really-mean-it");
    }
  }

  private FileSystemImage scattered(String type) {
    FileSystemImage files = FileSystemImage.make(folder, type, SIZE);
    files.mounted(
        """
        for i in $(seq 1 400); do
          mkdir -p d$((i / 50))
          head -c $((100000 + i * 7919 % 800000)) /dev/urandom > d$((i / 50))/f$i
        done
        sync -f .
        for i in $(seq 1 400); do [ $((i % 3)) = 0 ] || rm d$((i / 50))/f$i; done
        """);
    return files;
  }

  private void copy(FileSystemImage files, String own, int objectSize) {
    try (IoContext there = cluster.openPool(own)) {
      RbdPool images = new RbdPool(there);
      images.create(name, SIZE, options().objectSizeBytes(objectSize).build());
      try (RbdImage image = images.open(name)) {
        files.writeTo(image);
      }
    }
  }

  /** What the kernel does with a mounted file system, through qemu and librbd. */
  private void trimOnline(String own) {
    Commands.run(
        List.of(
            "bash",
            "-c",
            """
            set -e
            w=$(mktemp -d)
            touch $w/image
            qemu-storage-daemon --pidfile $w/pid --daemonize \\
              --blockdev driver=rbd,node-name=n,pool=%s,image=%s,conf=%s,discard=unmap \\
              --export type=fuse,id=e,node-name=n,mountpoint=$w/image,writable=on
            pid=$(cat $w/pid) # it takes the file away at its end
            trap 'kill $pid; tail --pid=$pid -f /dev/null' EXIT
            loop=$(losetup -f --show $w/image)
            mkdir $w/m
            mount $loop $w/m || { losetup -d $loop; exit 1; }
            fstrim $w/m
            umount $w/m
            losetup -d $loop
            while losetup -j $w/image | grep -q .; do sleep 0.1; done
            """
                .formatted(own, name, ceph.conf())));
  }

  /** What {@code rbd du} and {@code rbd du --exact} show. */
  private record Used(long whole, long exact) {}

  private Used used(String own) {
    try (IoContext there = cluster.openPool(own)) {
      UsageMeter meter = new UsageMeter(new RbdPool(there));
      String id = ImageId.find(new RbdPool(there), name).orElseThrow();
      return new Used(
          meter.byObjectMap(id).orElseThrow().headBytes(),
          meter.measure(id, new UsageQuery(true, false, Long.MAX_VALUE)).orElseThrow().headBytes());
    }
  }

  static Stream<Arguments> cases() {
    return Stream.of("ext4,4194304", "xfs,65536", "xfs,4194304", "ext4,65536", "xfs,33554432")
        .map(each -> each.split(",", -1))
        .map(each -> Arguments.of(each[0], Integer.valueOf(each[1])))
        .limit("full".equals(System.getenv("CEPH_CSI_TEST_CAMPAIGN")) ? 5 : 2);
  }

  @ParameterizedTest
  @MethodSource("cases")
  void freesAsMuchAsTheKernelDoes(String type, int objectSize) {
    FileSystemImage files = scattered(type);
    String checksums = files.checksums();
    pools.forEach(own -> copy(files, own, objectSize));

    trimOnline(pools.get(1));
    ReclaimPlan plan = ReclaimPlan.parse(Map.of("reclaim.method", "trim"));
    try (IoContext there = cluster.openPool(pools.get(0))) {
      TestTarget target = new TestTarget(ceph, new RbdPool(there), name);
      reclaimed(operate(operation -> reclaimer.reclaim(target, plan, operation)));
      try (RbdImage image = new RbdPool(there).openReadOnly(name)) {
        files.readFrom(image);
      }
    }
    files.check();
    assertThat(files.checksums()).isEqualTo(checksums);

    Used offline = used(pools.get(0));
    Used online = used(pools.get(1));
    Map<String, Long> onOsds = OsdSpace.settled(ceph, pools);
    long offlineOnOsds = onOsds.get(pools.get(0));
    long onlineOnOsds = onOsds.get(pools.get(1));
    System.out.printf(
        "%s, objects of %d: offline %s, %d on OSDs; online %s, %d on OSDs%n",
        type, objectSize, offline, offlineOnOsds, online, onlineOnOsds);
    assertThat(offlineOnOsds).isLessThan(SIZE / 2); // four fifths were in use before
    assertThat(offlineOnOsds).isLessThanOrEqualTo(twoPercentMore(onlineOnOsds));
    assertThat(offline.whole()).isLessThanOrEqualTo(twoPercentMore(online.whole()));
    assertThat(offline.exact()).isLessThanOrEqualTo(twoPercentMore(online.exact()));
  }

  private static long twoPercentMore(long bytes) {
    return bytes + bytes / 50;
  }
}
