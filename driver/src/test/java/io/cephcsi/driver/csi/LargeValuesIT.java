package io.cephcsi.driver.csi;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.app.DriverConfig;
import io.cephcsi.driver.testing.DriverSeat;
import io.cephcsi.driver.testing.ServedProcess;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.ControllerGrpc.ControllerBlockingStub;
import io.cephcsi.proto.csi.v1.DeleteVolumeRequest;
import io.cephcsi.proto.csi.v1.ListVolumesRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.LocalCluster;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;

/**
 * Values that are as large as a cluster takes them, in a journal and in headers: a driver with the
 * memory that it is delivered with goes on, and so does fsck.
 */
@EnabledIf("io.cephcsi.testing.TestCluster#canControl")
class LargeValuesIT {
  private static final long MIB = 1L << 20;
  private static final byte[] HUGE = new byte[50_000_000];
  private static final String DIRECTORY = "csi.volumes.default";
  private static final String RECLAIMER = "csi.java.reclaimer";

  private static LocalCluster ceph;
  private static RadosCluster cluster;
  private static IoContext io;

  @BeforeAll
  static void start() {
    ceph = TestCluster.start("large-values");
    cluster = ceph.connect();
    io = cluster.openPool(ceph.pool());
  }

  @AfterAll
  static void end() {
    io.close();
    cluster.close();
    ceph.close();
  }

  private static void put(String object, String key) {
    put(object, Map.of(key, HUGE));
  }

  private static void put(String object, Map<String, byte[]> keys) {
    try (WriteOperation write = new WriteOperation()) {
      io.operate(object, write.omapSet(keys));
    }
  }

  private static void remove(String object, List<String> keys) {
    try (WriteOperation write = new WriteOperation()) {
      io.operate(object, write.omapRemove(keys));
    }
  }

  private static String entry(Volume volume) {
    return "csi.volume." + VolumeId.parse(volume.getVolumeId()).orElseThrow().uuid();
  }

  private static String header(Volume volume) {
    return "rbd_header." + ImageId.find(new RbdPool(io), TestDriver.image(volume)).orElseThrow();
  }

  private static List<String> listed(ControllerBlockingStub controller) {
    return controller.listVolumes(ListVolumesRequest.getDefaultInstance()).getEntriesList().stream()
        .map(listed -> listed.getVolume().getVolumeId())
        .toList();
  }

  @Test
  void endNeitherADriverNorACheckAndHideNoOtherVolume(@TempDir Path folder) {
    try (TestDriver maker = TestDriver.rbd(ceph).start();
        DriverSeat seat = new DriverSeat(DriverConfig.Type.RBD, ceph, ceph.rbdUser(), List.of());
        ServedProcess process = seat.start()) {
      ControllerBlockingStub controller = seat.controller(process);
      Volume sound = maker.create("a-sound", 16 * MIB);
      Volume entry = maker.create("b-entry", 16 * MIB);
      Volume name = maker.create("c-name", 16 * MIB);
      Volume metadata = maker.create("d-metadata", 16 * MIB);
      Volume attribute = maker.create("e-attribute", 16 * MIB);
      List<Volume> many = new ArrayList<>();
      for (int i = 0; i < 16; i++) {
        many.add(maker.create("f-many-" + i, 16 * MIB));
      }
      Volume last = maker.create("z-last", 16 * MIB);
      List<String> xs = List.of("x1", "x2", "x3");
      xs.forEach(key -> put(entry(entry), key));
      List<String> names =
          List.of("csi.volume.c-name", "csi.volume.c-name-2", "csi.volume.c-name-3");
      names.forEach(key -> put(DIRECTORY, key));
      put(header(metadata), "metadata_" + RECLAIMER);
      try (WriteOperation write = new WriteOperation()) {
        io.operate(header(attribute), write.setXattr("csi.java.huge", HUGE));
      }
      Map<String, byte[]> large = new LinkedHashMap<>();
      for (int i = 0; i < 60; i++) {
        large.put("x" + i, new byte[60_000]);
      }
      many.forEach(volume -> put(entry(volume), large)); // which are read at once

      for (int i = 0; i < 3; i++) {
        assertThat(listed(controller))
            .contains(sound.getVolumeId(), last.getVolumeId())
            .doesNotContain(entry.getVolumeId(), name.getVolumeId());
      }
      assertStatus(
          Code.FAILED_PRECONDITION,
          "key x1 of 2 bytes has a value of 50000000 bytes",
          () -> delete(maker, controller, entry));
      assertStatus(Code.FAILED_PRECONDITION, "2 MiB", () -> delete(maker, controller, many.get(0)));
      assertStatus(
          Code.FAILED_PRECONDITION,
          "key csi.volume.c-name of 17 bytes",
          () -> controller.createVolume(maker.createRequest("c-name", 16 * MIB).build()));
      try (RbdImage image = new RbdPool(io).open(TestDriver.image(metadata))) {
        assertThatThrownBy(() -> image.metadata().get(RECLAIMER))
            .isInstanceOf(CephException.TooLarge.class);
      }
      ServedProcess fsck =
          ServedProcess.start(
              folder,
              "fsck",
              "--pool",
              ceph.pool(),
              "--settle",
              "10ms",
              "--conf",
              ceph.conf().toString());
      assertThat(fsck.awaitExit(Duration.ofMinutes(2))).as(fsck.output()).isEqualTo(3);
      assertThat(fsck.output())
          .contains("ENTRY_DAMAGED", "NAME_DAMAGED", "key x1 of 2 bytes", "more than 64 KiB)")
          .contains("UNREADABLE", "csi.java.huge")
          .doesNotContain("OutOfMemoryError");

      remove(entry(entry), xs);
      many.forEach(volume -> remove(entry(volume), List.copyOf(large.keySet())));
      assertThat(listed(controller)).contains(entry.getVolumeId(), many.get(3).getVolumeId());
      delete(maker, controller, entry);
      delete(maker, controller, sound);
      delete(maker, controller, last);
      assertThat(process.isAlive()).as(process.output()).isTrue();
      assertThat(process.output()).doesNotContain("OutOfMemoryError");
    }
  }

  @SuppressWarnings("CheckReturnValue")
  private static void delete(TestDriver maker, ControllerBlockingStub controller, Volume volume) {
    controller.deleteVolume(
        DeleteVolumeRequest.newBuilder()
            .setVolumeId(volume.getVolumeId())
            .putAllSecrets(maker.secrets())
            .build());
  }
}
