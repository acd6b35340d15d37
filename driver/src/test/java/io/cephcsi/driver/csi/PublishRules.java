package io.cephcsi.driver.csi;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.ControllerGetVolumeRequest;
import io.cephcsi.proto.csi.v1.ListVolumesRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.util.List;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** The rules of CSI 1.12 for giving volumes to nodes. */
abstract class PublishRules extends ConformanceCase {
  private static final String OTHER = "node-2";
  private final String name = newName();
  private Volume volume = Volume.getDefaultInstance();
  private String id = "";

  @BeforeEach
  void makeVolume() {
    volume = create(name);
    id = volume.getVolumeId();
  }

  @AfterEach
  void deleteVolume() {
    assertThat(controller().controllerUnpublishVolume(unpublish(id, "").build())).isNotNull();
    driver.delete(id);
  }

  /** What the node plugin on another machine does. */
  private static void registerOther() {
    kind.registerNode(CLUSTER, driver.instanceId(), OTHER);
  }

  private static Volume create(String name) {
    return driver.create(name, 16 * MIB);
  }

  private static VolumeCapability singleMultiWriter() {
    return TestDriver.singleWriter().toBuilder()
        .setAccessMode(
            VolumeCapability.AccessMode.newBuilder().setMode(Mode.SINGLE_NODE_MULTI_WRITER))
        .build();
  }

  private static List<String> nodesOf(String volumeId) {
    return controller()
        .controllerGetVolume(ControllerGetVolumeRequest.newBuilder().setVolumeId(volumeId).build())
        .getStatus()
        .getPublishedNodeIdsList();
  }

  @Nested
  class ControllerPublishVolume {
    @Test
    void requiredFieldsAreChecked() {
      var call = controller();
      assertInvalid("volume_id", call::controllerPublishVolume, publish("", node()).build());
      assertInvalid("node_id", call::controllerPublishVolume, publish(id, "").build());
      assertInvalid("node_id", call::controllerPublishVolume, publish(id, "n".repeat(257)).build());
      assertInvalid(
          "volume_capability",
          call::controllerPublishVolume,
          publish(id, node()).clearVolumeCapability().build());
      assertInvalid(
          "access_mode",
          call::controllerPublishVolume,
          publish(id, node())
              .setVolumeCapability(
                  TestDriver.singleWriter().toBuilder()
                      .setAccessMode(VolumeCapability.AccessMode.getDefaultInstance()))
              .build());
    }

    @Test
    void aVolumeOrNodeThatDoesNotExistIsNotFound() {
      assertStatus(
          Code.NOT_FOUND,
          () -> controller().controllerPublishVolume(publish(NOBODY, node()).build()));
      assertStatus(
          Code.NOT_FOUND,
          () -> controller().controllerPublishVolume(publish("no id", node()).build()));
      assertStatus(
          Code.NOT_FOUND,
          "some-node",
          () -> controller().controllerPublishVolume(publish(id, "some-node").build()));
    }

    @Test
    void twiceIsOnceAndTheNodeIsListed() {
      for (int i = 0; i < 2; i++) {
        assertThat(controller().controllerPublishVolume(publish(id, node()).build())).isNotNull();
      }
      assertThat(nodesOf(id)).containsExactly(node());
      assertThat(
              controller()
                  .listVolumes(ListVolumesRequest.getDefaultInstance())
                  .getEntriesList()
                  .stream()
                  .filter(entry -> entry.getVolume().getVolumeId().equals(id))
                  .findFirst()
                  .orElseThrow()
                  .getStatus()
                  .getPublishedNodeIdsList())
          .containsExactly(node());
    }

    @Test
    void theSameNodeInAnotherWayAlreadyExists() {
      assertThat(controller().controllerPublishVolume(publish(id, node()).build())).isNotNull();
      assertStatus(
          Code.ALREADY_EXISTS,
          () ->
              controller().controllerPublishVolume(publish(id, node()).setReadonly(true).build()));
      assertStatus(
          Code.ALREADY_EXISTS,
          () ->
              controller()
                  .controllerPublishVolume(
                      publish(id, node()).setVolumeCapability(singleMultiWriter()).build()));
    }

    @Test
    void aSecondNodeOfASingleNodeVolumeIsRefusedNamingTheFirst() {
      Awaitility.await().untilAsserted(PublishRules::registerOther);
      assertThat(controller().controllerPublishVolume(publish(id, node()).build())).isNotNull();
      assertStatus(
          Code.FAILED_PRECONDITION,
          node(),
          () -> controller().controllerPublishVolume(publish(id, OTHER).build()));

      assertThat(controller().controllerUnpublishVolume(unpublish(id, node()).build())).isNotNull();
      assertThat(controller().controllerPublishVolume(publish(id, OTHER).build())).isNotNull();
      assertThat(nodesOf(id)).containsExactly(OTHER);
    }

    @Test
    void aMultiNodeVolumeIsOnSeveralNodes() {
      Awaitility.await().untilAsserted(PublishRules::registerOther);
      VolumeCapability shared = kind.shared();
      for (String node : List.of(node(), OTHER)) {
        assertThat(
                controller()
                    .controllerPublishVolume(publish(id, node).setVolumeCapability(shared).build()))
            .isNotNull();
      }
      assertThat(nodesOf(id)).containsExactly(node(), OTHER);
    }

    @Test
    void ofTwoDriversAtOnceOneGetsASingleNodeVolume() {
      Awaitility.await().untilAsserted(PublishRules::registerOther);
      try (TestDriver second = kind.start(CLUSTER, driver.instanceId(), true)) {
        List<Boolean> got =
            IntStream.range(0, 2)
                .parallel()
                .mapToObj(
                    i -> {
                      var stub = i == 0 ? driver.controller() : second.controller();
                      try {
                        return stub.controllerPublishVolume(
                                publish(id, i == 0 ? node() : OTHER).build())
                            != null;
                      } catch (StatusRuntimeException e) {
                        assertThat(e.getStatus().getCode()).isEqualTo(Code.FAILED_PRECONDITION);
                        return false;
                      }
                    })
                .toList();
        assertThat(got).containsExactlyInAnyOrder(true, false);
      }
      assertThat(nodesOf(id)).hasSize(1);
    }
  }

  @Nested
  class ControllerUnpublishVolume {
    @Test
    void requiredFieldsAreChecked() {
      assertInvalid(
          "volume_id", controller()::controllerUnpublishVolume, unpublish("", node()).build());
    }

    @Test
    void whatIsNotPublishedIsUnpublishedAndTwiceIsOnce() {
      for (String volumeId : List.of("no id", NOBODY, id)) {
        assertThat(controller().controllerUnpublishVolume(unpublish(volumeId, node()).build()))
            .isNotNull();
        assertThat(controller().controllerUnpublishVolume(unpublish(volumeId, "some-node").build()))
            .isNotNull();
      }
    }

    @Test
    void withoutANodeItIsTakenFromAll() {
      assertThat(controller().controllerPublishVolume(publish(id, node()).build())).isNotNull();
      assertThat(controller().controllerUnpublishVolume(unpublish(id, "").build())).isNotNull();
      assertThat(nodesOf(id)).isEmpty();
    }
  }

  @Nested
  class DeleteOfAPublishedVolume {
    @Test
    void isRefusedNamingTheNode() {
      assertThat(controller().controllerPublishVolume(publish(id, node()).build())).isNotNull();
      assertStatus(Code.FAILED_PRECONDITION, node(), () -> driver.delete(id));
      assertThat(create(name)).isEqualTo(volume);
    }
  }
}
