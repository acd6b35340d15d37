package io.cephcsi.driver.csi;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.SubvolumeState;
import io.cephcsi.proto.csi.v1.Volume;
import io.grpc.Status.Code;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Deletions of CephFS volumes that meet publications. */
class CephFsDeletionRaceIT extends DeletionRaceRules {
  @BeforeAll
  static void start() {
    start(Kind.CEPHFS);
  }

  @Override
  int rounds() {
    return 22;
  }

  @Test
  void aDeletionThatDiedFreesTheNameAndItsIdIsNotUsedAgain() {
    String name = newName();
    String first = driver.create(name, 16 * MIB).getVolumeId();
    new SubvolumeState(CLUSTER).markDeleting(first);
    assertStatus(
        Code.FAILED_PRECONDITION,
        "2026-01-01T00:00:00Z",
        () -> controller().controllerPublishVolume(publish(first, node()).build()));
    Volume second = driver.create(name, 16 * MIB);
    String id = second.getVolumeId();
    assertThat(id).isNotEqualTo(first);
    assertThat(controller().controllerPublishVolume(publish(id, node()).build())).isNotNull();
    driver.delete(first);
    assertThat(driver.create(name, 16 * MIB)).isEqualTo(second);
    assertStatus(Code.FAILED_PRECONDITION, "node", () -> driver.delete(id));
    assertThat(controller().controllerUnpublishVolume(unpublish(id, node()).build())).isNotNull();
    driver.delete(id);
  }
}
