package io.cephcsi.driver.crash;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.CapacityRange;
import io.cephcsi.proto.csi.v1.ControllerExpandVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerGetVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerModifyVolumeRequest;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.Topology;
import io.cephcsi.proto.csi.v1.TopologyRequirement;
import io.cephcsi.proto.csi.v1.Volume;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The driver dies over calls on volumes. */
class VolumeCrashIT extends RbdCrashCase {

  @Test
  void createVolume() throws InterruptedException {
    new Attempts(
            false,
            "calls",
            0,
            (scene, controller) ->
                controller.createVolume(
                    scene.driver().createRequest(scene.name(), 16 * MIB).build()),
            scene -> scene.driver().delete(volume(scene.driver().create(scene.name(), 16 * MIB))))
        .survive();
  }

  @Test
  void createVolumeFromSnapshot() throws InterruptedException {
    new Attempts(
            false,
            "calls",
            2,
            (scene, controller) ->
                controller.createVolume(
                    scene
                        .driver()
                        .restoreRequest(scene.name(), 20 * MIB, scene.snapshot().getSnapshotId())
                        .build()),
            scene -> {
              Volume restored =
                  scene.driver().restore(scene.name(), 20 * MIB, scene.snapshot().getSnapshotId());
              assertThat(POOL.info(TestDriver.image(restored)).path("size").asLong())
                  .isEqualTo(20 * MIB);
              scene.driver().delete(restored.getVolumeId());
            })
        .survive();
  }

  @Test
  void createVolumeFromVolume() throws InterruptedException {
    new Attempts(
            false,
            "calls",
            1,
            (scene, controller) ->
                controller.createVolume(
                    scene
                        .driver()
                        .cloneRequest(scene.name(), 0, scene.volume().getVolumeId())
                        .build()),
            scene -> {
              Volume copy = scene.driver().copy(scene.name(), 0, scene.volume().getVolumeId());
              scene.hasContent(TestDriver.image(copy));
              scene.driver().delete(copy.getVolumeId());
            })
        .survive();
  }

  @Test
  void controllerExpandVolume() throws InterruptedException {
    new Attempts(
            false,
            "calls",
            0,
            (scene, controller) ->
                controller.controllerExpandVolume(
                    ControllerExpandVolumeRequest.newBuilder()
                        .setVolumeId(scene.volume().getVolumeId())
                        .setCapacityRange(CapacityRange.newBuilder().setRequiredBytes(32 * MIB))
                        .putAllSecrets(scene.driver().secrets())
                        .build()),
            VolumeCrashIT::nothing)
        .survive();
  }

  @Test
  void deleteVolumeThatWasCloned() throws InterruptedException {
    new Attempts(
            true,
            "calls",
            1,
            (scene, controller) -> deleteVolume(scene, controller, scene.volume()),
            VolumeCrashIT::nothing)
        .survive();
  }

  @Test
  void deleteVolumeThatIsAClone() throws InterruptedException {
    new Attempts(
            true,
            "calls",
            2,
            (scene, controller) -> deleteVolume(scene, controller, scene.copied()),
            VolumeCrashIT::nothing)
        .survive();
  }

  @Test
  void theTrashOfAVolumeWithAncestorsIsEmptiedByTheNextDriver() throws InterruptedException {
    new Attempts(
            true,
            "trash",
            0,
            scene -> {
              scene.driver().delete(scene.volume().getVolumeId());
              scene.driver().delete(scene.restored().getVolumeId());
            },
            (scene, controller) -> deleteVolume(scene, controller, scene.copied()),
            VolumeCrashIT::nothing)
        .survive();
  }

  private static List<String> nodes(Scene scene) {
    return scene
        .driver()
        .controller()
        .controllerGetVolume(
            ControllerGetVolumeRequest.newBuilder()
                .setVolumeId(scene.volume().getVolumeId())
                .build())
        .getStatus()
        .getPublishedNodeIdsList();
  }

  @Test
  void controllerPublishVolume() throws InterruptedException {
    new Attempts(
            false,
            "calls",
            0,
            (scene, controller) -> controller.controllerPublishVolume(publish(scene)),
            scene -> {
              assertThat(nodes(scene)).containsExactly(TestDriver.NODE_ID);
              assertThat(scene.driver().controller().controllerUnpublishVolume(unpublish(scene)))
                  .isNotNull();
            })
        .survive();
  }

  @Test
  void controllerUnpublishVolume() throws InterruptedException {
    new Attempts(
            false,
            "calls",
            0,
            scene ->
                assertThat(scene.driver().controller().controllerPublishVolume(publish(scene)))
                    .isNotNull(),
            (scene, controller) -> controller.controllerUnpublishVolume(unpublish(scene)),
            scene -> assertThat(nodes(scene)).isEmpty())
        .survive();
  }

  @Test
  void controllerModifyVolume() throws InterruptedException {
    new Attempts(
            false,
            "calls",
            1,
            (scene, controller) ->
                controller.controllerModifyVolume(
                    ControllerModifyVolumeRequest.newBuilder()
                        .setVolumeId(scene.volume().getVolumeId())
                        .putMutableParameters("qos.iopsLimit", "100")
                        .putMutableParameters("qos.bpsLimit", "1000000")
                        .putMutableParameters("qos.readIopsLimit", "50")
                        .putAllSecrets(scene.driver().secrets())
                        .build()),
            scene ->
                assertThat(
                        CLUSTER.rbd(
                            "image-meta", "list", "rbd/" + TestDriver.image(scene.volume())))
                    .contains("conf_rbd_qos_iops_limit", "conf_rbd_qos_bps_limit", "1000000"))
        .survive();
  }

  private static CreateVolumeRequest inOtherPool(Scene scene) {
    return scene
        .driver()
        .createRequest(scene.name(), 16 * MIB)
        .putParameters(
            "topologyConstrainedPools",
            "[{\"poolName\": \""
                + CLUSTER.otherPool()
                + "\", \"domainSegments\": [{\"domainLabel\": \"zone\", \"value\": \"b\"}]}]")
        .putMutableParameters("qos.iopsLimit", "100")
        .setAccessibilityRequirements(
            TopologyRequirement.newBuilder()
                .addRequisite(
                    Topology.newBuilder().putSegments("topology.rbd.csi.ceph.com/zone", "b")))
        .build();
  }

  @Test
  void createVolumeWithTopologyAndMutableParameters() throws InterruptedException {
    new Attempts(
            false,
            "calls",
            2,
            (scene, controller) -> controller.createVolume(inOtherPool(scene)),
            scene -> {
              Volume volume =
                  scene.driver().controller().createVolume(inOtherPool(scene)).getVolume();
              assertThat(
                      CLUSTER.rbd(
                          "image-meta",
                          "list",
                          CLUSTER.otherPool() + "/" + TestDriver.image(volume)))
                  .contains("conf_rbd_qos_iops_limit");
              scene.driver().delete(volume.getVolumeId());
            })
        .survive();
  }

  private static CreateVolumeRequest withoutPool(Scene scene, String preferred, String other) {
    String pool =
        "{\"poolName\": \"%s\", \"domainSegments\": [{\"domainLabel\": \"zone\", \"value\": \"%s\"}]}";
    TopologyRequirement.Builder requirement = TopologyRequirement.newBuilder();
    for (String zone : List.of(preferred, other)) {
      requirement.addPreferred(
          Topology.newBuilder().putSegments("topology.rbd.csi.ceph.com/zone", zone));
    }
    return scene
        .driver()
        .createRequest(scene.name(), 16 * MIB)
        .removeParameters("pool")
        .putParameters(
            "topologyConstrainedPools",
            "["
                + pool.formatted(CLUSTER.pool(), "a")
                + ","
                + pool.formatted(CLUSTER.otherPool(), "b")
                + "]")
        .setAccessibilityRequirements(requirement)
        .build();
  }

  /** The retry prefers another pool. */
  @Test
  void createVolumeOfAClassWithoutPool() throws InterruptedException {
    new Attempts(
            false,
            "calls",
            2,
            (scene, controller) -> controller.createVolume(withoutPool(scene, "b", "a")),
            scene ->
                scene
                    .driver()
                    .delete(
                        scene
                            .driver()
                            .controller()
                            .createVolume(withoutPool(scene, "a", "b"))
                            .getVolume()
                            .getVolumeId()))
        .survive();
  }

  @Test
  void deleteVolumeWithTheJournalInAnotherPool() throws InterruptedException {
    Map<String, Volume> made = new HashMap<>();
    new Attempts(
            false,
            "calls",
            0,
            scene ->
                made.put(
                    scene.name(),
                    scene.driver().controller().createVolume(inOtherPool(scene)).getVolume()),
            (scene, controller) -> deleteVolume(scene, controller, made.get(scene.name())),
            VolumeCrashIT::nothing)
        .survive();
  }
}
