package io.cephcsi.driver.csi;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.ControllerModifyVolumeRequest;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What all volumes must do, and what only RBD volumes can. */
class RbdVolumeConformanceIT extends VolumeRules {
  @BeforeAll
  static void start() {
    start(Kind.RBD);
  }

  @Nested
  class MutableParametersOfCreateVolume {
    private final CreateVolumeRequest request = driver.createRequest(newName(), 16 * MIB).build();

    @ParameterizedTest
    @ValueSource(strings = {"layering", "layering,exclusive-lock,journaling"})
    void mutableParametersHoldFromTheStart(String features) {
      Volume volume =
          controller()
              .createVolume(
                  request.toBuilder()
                      .putParameters("imageFeatures", features)
                      .putMutableParameters("qos.iopsLimit", "77")
                      .build())
              .getVolume();
      assertThat(CLUSTER.rbd("image-meta", "ls", "rbd/" + TestDriver.image(volume)))
          .contains("conf_rbd_qos_iops_limit", "77");
      driver.delete(volume.getVolumeId());
    }
  }

  /** What is wrong with a StorageClass is no fault of the driver. */
  @Nested
  class ParametersOfCreateVolume {
    private void assertRefused(Code code, long bytes, String... parameters) {
      var request = driver.createRequest(newName(), bytes);
      for (int i = 0; i < parameters.length; i += 2) {
        request.putParameters(parameters[i], parameters[i + 1]);
      }
      assertStatus(code, () -> controller().createVolume(request.build()));
    }

    @Test
    void anImageHasAtMostSoManyObjects() {
      assertRefused(Code.OUT_OF_RANGE, 1L << 50);
      assertRefused(Code.OUT_OF_RANGE, 1L << 41, "objectSize", "4096");
      Volume volume = create();
      assertStatus(
          Code.OUT_OF_RANGE,
          () ->
              controller().controllerExpandVolume(expand(volume.getVolumeId(), 1L << 50).build()));
      driver.delete(volume.getVolumeId());
    }

    @Test
    void oddStripesAndSizesAreInvalid() {
      for (String count : List.of("0", "-1", "65537", "9223372036854775807", "1e3", "0x10")) {
        assertRefused(Code.INVALID_ARGUMENT, 16 * MIB, "stripeUnit", "4096", "stripeCount", count);
      }
      for (String unit : List.of("0", "-4096", "511", "3000", "8388608", "9223372036854775807")) {
        assertRefused(Code.INVALID_ARGUMENT, 16 * MIB, "stripeUnit", unit, "stripeCount", "2");
      }
      for (String size : List.of("0", "-1", "9223372036854775807", "4097")) {
        assertRefused(Code.INVALID_ARGUMENT, 16 * MIB, "objectSize", size);
      }
    }

    @Test
    void poolsThatCannotHoldImagesAreNamed() {
      assertRefused(Code.INVALID_ARGUMENT, 16 * MIB, "pool", "no-such-pool");
      assertRefused(Code.INVALID_ARGUMENT, 16 * MIB, "dataPool", "no-such-pool");
      assertRefused(Code.INVALID_ARGUMENT, 16 * MIB, "pool", "a/b");
      String pool = "no-application";
      CLUSTER.ceph("osd", "pool", "create", pool, "1");
      for (String parameter : List.of("pool", "dataPool")) {
        var request = driver.createRequest(newName(), 16 * MIB).putParameters(parameter, pool);
        try { // a user with all rights may use such a pool
          driver.delete(controller().createVolume(request.build()).getVolume().getVolumeId());
        } catch (StatusRuntimeException e) {
          assertThat(e.getStatus().getCode())
              .as(parameter + ": " + e.getStatus().getDescription())
              .isEqualTo(Code.FAILED_PRECONDITION);
        }
      }
    }
  }

  @Nested
  class ControllerModifyVolume {
    private ControllerModifyVolumeRequest request(String id, Map<String, String> parameters) {
      return ControllerModifyVolumeRequest.newBuilder()
          .setVolumeId(id)
          .putAllMutableParameters(parameters)
          .build();
    }

    @Test
    void requiredFieldsAndKeysAreChecked() {
      Map<String, String> good = Map.of("qos.iopsLimit", "5");
      assertInvalid("volume_id", controller()::controllerModifyVolume, request("", good));
      assertInvalid(
          "mutable_parameters", controller()::controllerModifyVolume, request(NOBODY, Map.of()));
      assertInvalid(
          "colour",
          controller()::controllerModifyVolume,
          request(NOBODY, Map.of("colour", "blue")));
      assertStatus(
          Code.NOT_FOUND, () -> controller().controllerModifyVolume(request(NOBODY, good)));
    }

    @Test
    void whoHasTheImageAttachedKeepsItsLock() {
      Volume volume = create();
      try (RadosCluster cluster = CLUSTER.connect();
          IoContext io = cluster.openPool("rbd");
          RbdImage image = new RbdPool(io).open(TestDriver.image(volume))) {
        image.write(0, new byte[512]);
        assertThat(image.lock().isOwner()).isTrue();
        assertThat(
                controller()
                    .controllerModifyVolume(
                        request(volume.getVolumeId(), Map.of("qos.bpsLimit", "1000000"))))
            .isNotNull();
        assertThat(image.lock().isOwner()).isTrue();
        assertThat(image.metadata().get("conf_rbd_qos_bps_limit")).contains("1000000");
      }
      driver.delete(volume.getVolumeId());
    }

    /** As ceph-csi does it: 20 more for each GiB beyond 1, and no more than 2050. */
    @Test
    void limitsBySizeGrowWithTheVolumeUntilTheirRuleIsReplaced() {
      Volume volume =
          driver.create(
              driver
                  .createRequest(newName(), 2048 * MIB)
                  .putParameters("baseReadIops", "2000")
                  .putParameters("readIopsPerGiB", "20")
                  .putParameters("maxReadIops", "2050")
                  .putParameters("baseVolSizeBytes", "1073741824"));
      assertThat(limit(volume, "read_iops")).isEqualTo("2020");
      for (int i = 0; i < 2; i++) {
        driver.expand(volume.getVolumeId(), 3500 * MIB);
        assertThat(limit(volume, "read_iops")).isEqualTo("2040");
      }
      driver.expand(volume.getVolumeId(), 4096 * MIB);
      assertThat(limit(volume, "read_iops")).isEqualTo("2050");
      modify(
          volume,
          Map.of("baseWriteBps", "5", "writeBpsPerGiB", "1", "baseVolSizeBytes", "1048576"));
      assertThat(limit(volume, "write_bps")).isEqualTo("8");
      modify(volume, Map.of("qos.readIopsLimit", "7", "qos.writeBpsLimit", ""));
      driver.expand(volume.getVolumeId(), 8192 * MIB);
      assertThat(limit(volume, "read_iops")).isEqualTo("7");
      assertThat(CLUSTER.rbd("image-meta", "ls", "rbd/" + TestDriver.image(volume)))
          .doesNotContain("write_bps", "per_gib");
      driver.delete(volume.getVolumeId());
    }

    private static String limit(Volume volume, String stem) {
      return CLUSTER
          .rbd(
              "image-meta",
              "get",
              "rbd/" + TestDriver.image(volume),
              "conf_rbd_qos_" + stem + "_limit")
          .strip();
    }

    private void modify(Volume volume, Map<String, String> parameters) {
      assertThat(controller().controllerModifyVolume(request(volume.getVolumeId(), parameters)))
          .isNotNull();
    }

    @Test
    void twiceIsOnceAndAnEmptyValueTakesTheLimitAway() {
      Volume volume = create();
      String image = "rbd/" + TestDriver.image(volume);
      for (int i = 0; i < 2; i++) {
        assertThat(
                controller()
                    .controllerModifyVolume(
                        request(volume.getVolumeId(), Map.of("qos.bpsLimit", "1000000"))))
            .isNotNull();
      }
      assertThat(CLUSTER.rbd("image-meta", "ls", image))
          .contains("conf_rbd_qos_bps_limit", "1000000");
      for (int i = 0; i < 2; i++) {
        assertThat(
                controller()
                    .controllerModifyVolume(
                        request(volume.getVolumeId(), Map.of("qos.bpsLimit", ""))))
            .isNotNull();
      }
      assertThat(CLUSTER.rbd("image-meta", "ls", image)).doesNotContain("qos_bps");
      driver.delete(volume.getVolumeId());
    }
  }
}
