package io.cephcsi.driver.crash;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.testing.TestGroups;
import io.cephcsi.proto.addons.volumegroup.ControllerGrpc;
import io.cephcsi.proto.addons.volumegroup.DeleteVolumeGroupRequest;
import io.cephcsi.proto.addons.volumegroup.VolumeGroup;
import io.cephcsi.testing.LocalCluster;
import io.cephcsi.testing.TestCluster;
import io.grpc.Channel;
import io.grpc.Status;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** A call on a volume group that gets no answer from the cluster, which may carry it out later. */
class GroupTimeoutIT {
  private static LocalCluster cluster;

  @BeforeAll
  static void start() {
    assertThat(TestCluster.canControl()).as("needs CEPH_TEST_PROVIDER=local").isTrue();
    cluster = TestCluster.start("group-timeout");
  }

  @AfterAll
  static void down() {
    cluster.close();
  }

  private static boolean hasMark(String entry) {
    return cluster.rados("-p", cluster.pool(), "listxattr", entry).contains("csi.java.deleting");
  }

  private static CompletableFuture<StatusRuntimeException> delete(
      Channel channel, TestDriver driver, String id) {
    DeleteVolumeGroupRequest request =
        DeleteVolumeGroupRequest.newBuilder()
            .setVolumeGroupId(id)
            .putAllSecrets(driver.secrets())
            .build();
    return CompletableFuture.supplyAsync(
        () ->
            catchThrowableOfType(
                StatusRuntimeException.class,
                () ->
                    ControllerGrpc.newBlockingStub(channel)
                        .withWaitForReady()
                        .deleteVolumeGroup(request)));
  }

  /** The RBD group may be removed after the driver has answered. */
  @Test
  void aGroupWhoseRemovalHasNoAnswerStaysMarked() throws Exception {
    try (TestDriver driver = TestDriver.rbd(cluster).withCredentials().start();
        FaultyDriver deleting =
            FaultyDriver.start("rbd", cluster, "before-step,1,calls", "--operation-timeout=15")) {
      TestGroups groups = new TestGroups(cluster, driver);
      String volume = driver.create("volume", 16 << 20).getVolumeId();
      VolumeGroup group = groups.create("group");
      String id = group.getVolumeGroupId();
      String entry = TestGroups.journalObject(id);
      CompletableFuture<StatusRuntimeException> deletion = delete(deleting.channel(), driver, id);
      assertThat(deleting.stepsTo(() -> hasMark(entry), deletion::isDone)).isTrue();
      cluster.pause("osd.0");
      try {
        deleting.resume();
        assertThat(deleting.stoppedUnless(deletion::isDone))
            .as("it writes once more after the removal")
            .isFalse();
      } finally {
        cluster.resume("osd.0");
      }
      Status status = deletion.get(60, TimeUnit.SECONDS).getStatus();
      assertThat(status.getCode()).isEqualTo(Code.DEADLINE_EXCEEDED);
      assertThat(status.getDescription()).contains("rbd_group_remove");

      assertThat(hasMark(entry)).isTrue();
      assertStatus(Code.ABORTED, "is being deleted", () -> groups.modify(id, volume));
      groups.delete(id);
      assertThat(groups.exists(TestGroups.rbdGroup(group))).isFalse();
      driver.delete(volume);
    }
  }
}
