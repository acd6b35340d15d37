package io.cephcsi.driver.csi;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.ControllerGetCapabilitiesRequest;
import io.cephcsi.proto.csi.v1.ControllerPublishVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerServiceCapability.RPC;
import io.cephcsi.proto.csi.v1.ControllerUnpublishVolumeRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

class NodeRegistrationIT {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final List<RPC.Type> WITHOUT_NODES =
      List.of(
          RPC.Type.CREATE_DELETE_VOLUME,
          RPC.Type.CREATE_DELETE_SNAPSHOT,
          RPC.Type.CLONE_VOLUME,
          RPC.Type.EXPAND_VOLUME,
          RPC.Type.SINGLE_NODE_MULTI_WRITER,
          RPC.Type.LIST_VOLUMES,
          RPC.Type.LIST_SNAPSHOTS,
          RPC.Type.GET_CAPACITY,
          RPC.Type.GET_VOLUME,
          RPC.Type.GET_SNAPSHOT,
          RPC.Type.VOLUME_CONDITION,
          RPC.Type.MODIFY_VOLUME);

  private final String instance = "nodes-" + UUID.randomUUID();

  private static List<RPC.Type> capabilities(TestDriver driver) {
    return driver
        .controller()
        .controllerGetCapabilities(ControllerGetCapabilitiesRequest.getDefaultInstance())
        .getCapabilitiesList()
        .stream()
        .map(capability -> capability.getRpc().getType())
        .toList();
  }

  private static void publish(TestDriver driver, String volumeId, String node) {
    assertThat(
            driver
                .controller()
                .controllerPublishVolume(
                    ControllerPublishVolumeRequest.newBuilder()
                        .setVolumeId(volumeId)
                        .setNodeId(node)
                        .setVolumeCapability(TestDriver.singleWriter())
                        .build()))
        .isNotNull();
  }

  private static void unpublish(TestDriver driver, String volumeId) {
    assertThat(
            driver
                .controller()
                .controllerUnpublishVolume(
                    ControllerUnpublishVolumeRequest.newBuilder().setVolumeId(volumeId).build()))
        .isNotNull();
  }

  @Test
  void publishIsAdvertisedOnceANodeHasRegisteredAndForThatNodeOnly() {
    try (TestDriver controller =
        TestDriver.rbd(CLUSTER)
            .instance(instance)
            .withCredentials()
            .controllerOnly(false)
            .start()) {
      Volume volume = controller.create("pvc-" + instance, 1 << 20);
      String id = volume.getVolumeId();
      assertThat(capabilities(controller)).containsExactlyInAnyOrderElementsOf(WITHOUT_NODES);
      assertStatus(Code.UNIMPLEMENTED, () -> publish(controller, id, "node-1"));

      try (TestDriver node = TestDriver.rbd(CLUSTER).instance(instance).withCredentials().start()) {
        assertThat(node.instanceId()).isEqualTo(instance);
        Awaitility.await()
            .until(() -> capabilities(controller).contains(RPC.Type.PUBLISH_UNPUBLISH_VOLUME));
      }
      List<RPC.Type> withNodes = new ArrayList<>(WITHOUT_NODES);
      withNodes.addAll(
          List.of(
              RPC.Type.PUBLISH_UNPUBLISH_VOLUME,
              RPC.Type.PUBLISH_READONLY,
              RPC.Type.LIST_VOLUMES_PUBLISHED_NODES));
      assertThat(capabilities(controller)).containsExactlyInAnyOrderElementsOf(withNodes);
      // The requests carry no secrets: the driver has its own.
      Awaitility.await().ignoreExceptions().until(() -> tryPublish(controller, id));
      assertStatus(Code.NOT_FOUND, "node-9", () -> publish(controller, id, "node-9"));
      unpublish(controller, id);
      controller.delete(id);
    }
  }

  private static boolean tryPublish(TestDriver driver, String volumeId) {
    publish(driver, volumeId, "node-1");
    return true;
  }

  @Test
  void aNodeThatWasNotThereForADayIsUnknown() {
    try (TestDriver controller =
        TestDriver.rbd(CLUSTER).instance(instance).withCredentials().controllerOnly(true).start()) {
      assertThat(capabilities(controller)).contains(RPC.Type.PUBLISH_UNPUBLISH_VOLUME);
      String id = controller.create("pvc-" + instance, 1 << 20).getVolumeId();
      String object = "csi.java.nodes." + instance;
      CLUSTER.rados("-p", CLUSTER.pool(), "create", object);
      Instant now = Instant.now();
      CLUSTER.rados(
          "-p",
          CLUSTER.pool(),
          "setomapval",
          object,
          "gone",
          now.minus(Duration.ofHours(25)).toString());
      CLUSTER.rados(
          "-p",
          CLUSTER.pool(),
          "setomapval",
          object,
          "silent",
          now.minus(Duration.ofHours(23)).toString());
      assertStatus(Code.NOT_FOUND, () -> publish(controller, id, "gone"));
      publish(controller, id, "silent");
      unpublish(controller, id);
      controller.delete(id);
    }
  }

  @Test
  void volumesInAllPoolsOfTheClusterCountAndANodeSaysItsMaximum() {
    String pool = CLUSTER.otherPool();
    try (TestDriver driver = TestDriver.rbd(CLUSTER).instance(instance).withCredentials().start()) {
      Omaps here = new Omaps(CLUSTER, CLUSTER.pool(), "");
      String object = "csi.java.nodes." + instance;
      Awaitility.await()
          .ignoreExceptions()
          .until(() -> here.of(object).get("csi.java.max.node-1"), "7"::equals);
      here.set(object, "csi.java.max.node-2", "1");
      here.set(object, "node-2", Instant.now().toString());
      String first = driver.create("a-" + instance, 1 << 20).getVolumeId();
      String second =
          driver
              .create(driver.createRequest("b-" + instance, 1 << 20).putParameters("pool", pool))
              .getVolumeId();
      publish(driver, first, "node-2");
      // It is registered in the other pool only, as that one may be younger than its report.
      assertStatus(Code.RESOURCE_EXHAUSTED, () -> publish(driver, second, "node-2"));
      unpublish(driver, first);
      publish(driver, second, "node-2");
      assertStatus(Code.RESOURCE_EXHAUSTED, () -> publish(driver, first, "node-2"));
      unpublish(driver, second);
      driver.delete(first);
      driver.delete(second);
    }
  }
}
