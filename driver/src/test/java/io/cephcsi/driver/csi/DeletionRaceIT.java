package io.cephcsi.driver.csi;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.Volume;
import io.grpc.Status.Code;
import java.util.UUID;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Deletions of RBD volumes that meet publications. */
class DeletionRaceIT extends DeletionRaceRules {
  @BeforeAll
  static void start() {
    start(Kind.RBD);
  }

  @Override
  int rounds() {
    return 60;
  }

  private static void markAsBeingDeleted(String id) {
    CLUSTER.rados(
        "-p",
        "rbd",
        "setomapval",
        "csi.volume." + VolumeId.parse(id).orElseThrow().uuid(),
        "csi.java.deleting",
        "2026-01-01T00:00:00Z x");
  }

  /** As if it was read just before another driver called its deletion off. */
  @Test
  void createVolumeLeavesAPublishedOrUndeletableVolumeInDeletion() {
    String name = "race-" + UUID.randomUUID();
    Volume volume = driver.create(name, 16 << 20);
    String id = volume.getVolumeId();
    String image = "rbd/" + TestDriver.image(volume);
    assertThat(controller().controllerPublishVolume(publish(id, node()).build())).isNotNull();
    markAsBeingDeleted(id);
    assertStatus(Code.ABORTED, "published", () -> driver.create(name, 16 << 20));
    assertThat(CLUSTER.rbd("info", image)).isNotBlank();
    assertThat(controller().controllerUnpublishVolume(unpublish(id, node()).build())).isNotNull();

    CLUSTER.rbd("snap", "create", image + "@by-hand", "--no-progress");
    assertStatus(Code.ABORTED, "by-hand", () -> driver.create(name, 16 << 20));
    assertThat(controller().controllerPublishVolume(publish(id, node()).build())).isNotNull();
    assertThat(controller().controllerUnpublishVolume(unpublish(id, node()).build())).isNotNull();
    assertThat(driver.create(name, 16 << 20)).isEqualTo(volume);
    CLUSTER.rbd("snap", "rm", image + "@by-hand", "--no-progress");

    markAsBeingDeleted(id);
    Volume next = driver.create(name, 16 << 20);
    assertThat(next.getVolumeId()).isNotEqualTo(id);
    driver.delete(id);
    driver.delete(next.getVolumeId());
  }

  @Test
  void aRefusedDeletionAllowsPublishingAndAnInterruptedOneDoesNot() {
    Volume volume = create();
    String id = volume.getVolumeId();
    String image = "rbd/" + TestDriver.image(volume);
    CLUSTER.rbd("snap", "create", image + "@by-hand", "--no-progress");
    assertStatus(Code.FAILED_PRECONDITION, "by-hand", () -> driver.delete(id));
    assertThat(controller().controllerPublishVolume(publish(id, node()).build())).isNotNull();
    assertThat(controller().controllerUnpublishVolume(unpublish(id, node()).build())).isNotNull();

    markAsBeingDeleted(id);
    assertStatus(
        Code.FAILED_PRECONDITION,
        "2026-01-01T00:00:00Z",
        () -> controller().controllerPublishVolume(publish(id, node()).build()));
    CLUSTER.rbd("snap", "rm", image + "@by-hand", "--no-progress");
    driver.delete(id);
  }
}
