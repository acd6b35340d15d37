package io.cephcsi.driver.csi;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.SubvolumeState;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.Volume;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The rules of publishing, for CephFS. */
class CephFsPublishConformanceIT extends PublishRules {
  @BeforeAll
  static void start() {
    start(Kind.CEPHFS);
  }

  @Test
  void aVolumeIsPublishedAndUnpublishedWhileACallWaitsForItsCopy() {
    SubvolumeState state = new SubvolumeState(CLUSTER);
    Volume source = create();
    String id = source.getVolumeId();
    CreateVolumeRequest request = driver.cloneRequest(newName(), SIZE, id).build();
    state.delayClones(8);
    try {
      CompletableFuture<Volume> copy =
          CompletableFuture.supplyAsync(
              () -> await(request), task -> new Thread(task, "copying").start());
      Awaitility.await("the copy has begun")
          .atMost(Duration.ofMinutes(1))
          .until(
              () -> state.snapshots(source.getVolumeContextOrThrow("subvolumeName")),
              snapshots -> !snapshots.isEmpty());
      assertThat(controller().controllerPublishVolume(publish(id, node()).build())).isNotNull();
      assertThat(controller().controllerUnpublishVolume(unpublish(id, node()).build())).isNotNull();
      driver.delete(copy.join().getVolumeId());
    } finally {
      state.delayClones(0);
    }
    driver.delete(id);
  }
}
