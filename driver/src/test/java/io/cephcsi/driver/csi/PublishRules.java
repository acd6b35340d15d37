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
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
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
    return driver.create(name, SIZE);
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
    void aMultiNodeVolumeComesToAndLeavesManyNodesAtOnce() {
      List<String> nodes = IntStream.range(0, 8).mapToObj(i -> "node-of-many-" + i).toList();
      for (String one : nodes) {
        kind.registerNode(CLUSTER, driver.instanceId(), one);
      }
      VolumeCapability shared = kind.shared();
      atOnce(
          nodes,
          node ->
              controller()
                  .controllerPublishVolume(publish(id, node).setVolumeCapability(shared).build()));
      assertThat(nodesOf(id)).containsExactlyElementsOf(nodes);
      atOnce(nodes, node -> controller().controllerUnpublishVolume(unpublish(id, node).build()));
      assertThat(nodesOf(id)).isEmpty();
    }

    private static void atOnce(List<String> nodes, Function<String, Object> call) {
      nodes.stream()
          .map(
              node ->
                  CompletableFuture.supplyAsync(
                      () -> call.apply(node), command -> new Thread(command).start()))
          .toList()
          .forEach(answer -> assertThat(answer.join()).isNotNull());
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

  /** A node has as many volumes as it can have, and no more. */
  @Nested
  class MaximumOfANode {
    private static final String SMALL = "node-3";
    private final List<String> volumes = new ArrayList<>();

    @AfterEach
    void deleteVolumes() {
      volumes.forEach(
          volume -> {
            assertThat(controller().controllerUnpublishVolume(unpublish(volume, "").build()))
                .isNotNull();
            driver.delete(volume);
          });
    }

    private void make(int count) {
      for (int i = 0; i < count; i++) {
        volumes.add(create(newName()).getVolumeId());
      }
    }

    private static Code publishing(TestDriver by, String volume, String to) {
      try {
        by.controller().controllerPublishVolume(publish(volume, to).build());
        return Code.OK;
      } catch (StatusRuntimeException e) {
        return e.getStatus().getCode();
      }
    }

    private void assertOnlyOnce(int max, String to) {
      for (String one : volumes.subList(0, max)) {
        assertThat(publishing(driver, one, to)).isEqualTo(Code.OK);
      }
      String next = volumes.get(max);
      assertStatus(
          Code.RESOURCE_EXHAUSTED,
          "node " + to + " has " + max + " volumes and can have " + max,
          () -> controller().controllerPublishVolume(publish(next, to).build()));
      assertThat(nodesOf(next)).isEmpty();
      assertThat(publishing(driver, volumes.get(0), to)).isEqualTo(Code.OK);
    }

    @Test
    void oneMoreIsRefusedUntilOneIsTaken() {
      make(8); // this process says 7
      assertOnlyOnce(7, node());
      String taken = volumes.get(3);
      assertThat(controller().controllerUnpublishVolume(unpublish(taken, node()).build()))
          .isNotNull();
      assertThat(publishing(driver, volumes.get(7), node())).isEqualTo(Code.OK);
      assertThat(publishing(driver, taken, node())).isEqualTo(Code.RESOURCE_EXHAUSTED);
    }

    @Test
    void anotherNodeSaysItsMaximumWhenItRegisters() {
      register(SMALL, "2");
      make(3);
      assertOnlyOnce(2, SMALL);
      register(SMALL, "3");
      assertThat(publishing(driver, volumes.get(2), SMALL)).isEqualTo(Code.OK);
    }

    @Test
    void whatAnotherProgramDeletedDoesNotCount() {
      register(SMALL, "1");
      kind.journal(CLUSTER)
          .set(
              "csi.java.nodes." + driver.instanceId(),
              "csi.java.volumes." + SMALL,
              "no uuid " + new UUID(7, 7));
      assertThat(publishing(driver, id, SMALL)).isEqualTo(Code.OK);
    }

    @Test
    void ofManyAtOnceByTwoDriversOnlyThatManyAreGiven() {
      register(SMALL, "3");
      make(8);
      try (TestDriver second = kind.start(CLUSTER, driver.instanceId(), true)) {
        List<CompletableFuture<Code>> calls =
            IntStream.range(0, volumes.size())
                .mapToObj(
                    i ->
                        CompletableFuture.supplyAsync(
                            () -> publishing(i % 2 == 0 ? driver : second, volumes.get(i), SMALL),
                            command -> new Thread(command).start()))
                .toList();
        List<Code> answers = calls.stream().map(CompletableFuture::join).toList();
        assertThat(answers).containsOnly(Code.OK, Code.RESOURCE_EXHAUSTED);
        List<String> given = volumes.stream().filter(one -> !nodesOf(one).isEmpty()).toList();
        assertThat(answers.stream().filter(Code.OK::equals).count())
            .isEqualTo(given.size())
            .isBetween(1L, 3L);
        // Of two that met at the maximum both may have been refused: each is tried again.
        volumes.forEach(one -> publishing(driver, one, SMALL));
      }
      assertThat(volumes.stream().filter(one -> !nodesOf(one).isEmpty())).hasSize(3);
    }

    private static void register(String node, String max) {
      Awaitility.await().untilAsserted(() -> kind.registerNode(CLUSTER, driver.instanceId(), node));
      kind.journal(CLUSTER)
          .set("csi.java.nodes." + driver.instanceId(), "csi.java.max." + node, max);
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
