package io.cephcsi.driver.fsck.check;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.rados.ClassCall;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.driver.fsck.CheckProgress;
import io.cephcsi.driver.fsck.CheckSettings;
import io.cephcsi.driver.fsck.Workers;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.LocalCluster;
import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A check of many volumes; how many, the property {@code fsck.volumes} says. Time and memory go to
 * the log.
 */
class ScaleIT {
  private static final Logger LOG = LoggerFactory.getLogger(ScaleIT.class);
  private static final int VOLUMES = Integer.getInteger("fsck.volumes", 200);
  private static final int DATA_OBJECTS = 3;
  private static final Path PROGRAM =
      LocalCluster.root().resolve("driver/target/ceph-csi/bin/ceph-csi");

  @TempDir private Path folder;

  @Test
  void manyVolumesAreCheckedWithLittleMemory() throws Exception {
    try (LocalCluster ceph = TestCluster.start("fsck-scale", "--objectstore", "memstore");
        RadosCluster connection = ceph.connect();
        IoContext io = connection.openPool("rbd")) {
      String image;
      try (TestDriver driver = TestDriver.rbd(ceph).start()) {
        Volume volume = driver.create("template", 32 << 20);
        image = TestDriver.image(volume);
      }
      fill(io, image);
      CheckSettings settings =
          new CheckSettings(16, 0, Duration.ZERO, Duration.ofMinutes(10), Duration.ZERO, true);
      long start = System.nanoTime();
      try (Workers workers = new Workers(settings)) {
        RbdCheck.Result result =
            new RbdCheck(settings, workers, new CheckProgress(), Set.of()).check(io);
        LOG.warn(
            "{} volumes, {} data objects in this process: {}",
            result.volumes(),
            result.dataObjects(),
            Duration.ofNanos(System.nanoTime() - start));
        assertThat(result.findings()).isEmpty();
        assertThat(result.volumes()).isEqualTo(VOLUMES + 1);
        assertThat(result.dataObjects()).isEqualTo((long) VOLUMES * DATA_OBJECTS);
      }
      checkByProgram(ceph);
    }
  }

  private void checkByProgram(LocalCluster ceph) throws Exception {
    ProcessBuilder builder =
        new ProcessBuilder(PROGRAM.toString(), "fsck", "--conf=" + ceph.conf(), "--pool=rbd");
    builder.environment().put("CEPH_CSI_JAVA_OPTS", "-Xmx256m");
    long start = System.nanoTime();
    Process process =
        builder.redirectErrorStream(true).redirectOutput(folder.resolve("out").toFile()).start();
    long peak = 0;
    while (process.isAlive()) {
      peak = Math.max(peak, peakKibibytes(process.pid()));
      process.waitFor(50, TimeUnit.MILLISECONDS);
    }
    assertThat(process.exitValue()).as(Files.readString(folder.resolve("out"))).isZero();
    LOG.warn(
        "{} volumes by the program: {}, at most {} MiB",
        VOLUMES,
        Duration.ofNanos(System.nanoTime() - start),
        peak / 1024);
    assertThat(peak).isBetween(1L, 512L * 1024);
  }

  private static long peakKibibytes(long pid) {
    try {
      return Files.readString(Path.of("/proc/" + pid + "/status"))
          .lines()
          .filter(line -> line.startsWith("VmHWM:"))
          .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
          .findFirst()
          .orElse(0);
    } catch (IOException e) {
      return 0; // it has ended
    }
  }

  /** Makes volumes as copies of one, object by object: a driver would take minutes. */
  private static void fill(IoContext io, String image) {
    String id = new String(io.read("rbd_id." + image, 4, 64), UTF_8);
    SavedObject header = SavedObject.of(io, "rbd_header." + id);
    SavedObject map = SavedObject.of(io, "rbd_object_map." + id);
    byte[] full = map.content().orElseThrow().data().clone();
    CheckSettings settings =
        new CheckSettings(32, 0, Duration.ZERO, Duration.ZERO, Duration.ZERO, false);
    try (Workers workers = new Workers(settings)) {
      workers.each(IntStream.range(0, VOLUMES).iterator(), i -> makeVolume(io, header, full, i));
    }
  }

  private static void makeVolume(IoContext io, SavedObject header, byte[] map, int number) {
    String id = String.format("a%09d", number);
    UUID uuid = UUID.randomUUID();
    String image = "csi-vol-" + uuid;
    SavedObject.Content old = header.content().orElseThrow();
    Map<String, byte[]> omap = new LinkedHashMap<>(old.omap());
    omap.put("object_prefix", text("rbd_data." + id));
    omap.put("flags", ClassCall.content().u64(0).input());
    new SavedObject(
            "rbd_header." + id,
            Optional.of(new SavedObject.Content(old.data(), old.xattrs(), omap)))
        .restoreNew(io);
    io.writeFull("rbd_object_map." + id, fullMap(map));
    io.writeFull("rbd_id." + image, text(id));
    put(io, "rbd_directory", Map.of("name_" + image, text(id), "id_" + id, text(image)));
    put(
        io,
        "csi.volume." + uuid,
        Map.of(
            "csi.volname", ("pvc-" + number).getBytes(UTF_8),
            "csi.imagename", image.getBytes(UTF_8),
            "csi.imageid", id.getBytes(UTF_8)));
    put(
        io,
        "csi.volumes.default",
        Map.of("csi.volume.pvc-" + number, uuid.toString().getBytes(UTF_8)));
    for (int i = 0; i < DATA_OBJECTS; i++) {
      io.writeFull(String.format("rbd_data.%s.%016x", id, i), new byte[16]);
    }
  }

  /** A map of 32 MiB of which all 8 objects exist, with its checksum. */
  private static byte[] fullMap(byte[] empty) {
    byte[] map = empty.clone();
    map[18] = 0x55;
    map[19] = 0x55;
    int crc = crc(map, 18, 2);
    for (int i = 0; i < 4; i++) {
      map[map.length - 4 + i] = (byte) (crc >>> (8 * i));
    }
    return map;
  }

  /** As Ceph computes it: from 0, and not inverted. */
  private static int crc(byte[] bytes, int at, int length) {
    CRC32C usual = new CRC32C();
    usual.update(bytes, at, length);
    CRC32C zeroes = new CRC32C();
    zeroes.update(new byte[length]);
    return (int) (usual.getValue() ^ zeroes.getValue());
  }

  private static byte[] text(String value) {
    return ClassCall.content().string(value).input();
  }

  private static void put(IoContext io, String object, Map<String, byte[]> keys) {
    try (WriteOperation write = new WriteOperation()) {
      io.operate(object, write.create().omapSet(keys));
    }
  }
}
