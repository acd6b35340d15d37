package io.cephcsi.driver.crash;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.testing.TestGroupSnapshots;
import io.cephcsi.driver.testing.TestGroups;
import io.cephcsi.proto.addons.volumegroup.ControllerGrpc;
import io.cephcsi.proto.addons.volumegroup.VolumeGroup;
import io.cephcsi.proto.csi.v1.CreateVolumeGroupSnapshotRequest;
import io.cephcsi.proto.csi.v1.GroupControllerGrpc;
import io.cephcsi.proto.csi.v1.VolumeGroupSnapshot;
import io.grpc.Channel;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Stream;
import org.awaitility.Awaitility;

/** What the tests share whose driver dies, or is stopped, over calls on volume groups. */
abstract class GroupCrashCase extends CrashCase {
  static final long MIB = 1L << 20;
  static final long SEED = Long.parseLong(System.getenv().getOrDefault("CEPH_CSI_TEST_SEED", "0"));

  /** Three volumes, the first two of which are in a group. */
  record Scene(String name, String a, String b, String c, VolumeGroup group) {
    static Scene set(TestDriver driver) {
      String name = "group-" + UUID.randomUUID();
      String a = driver.create(name + "-a", 16 * MIB).getVolumeId();
      String b = driver.create(name + "-b", 16 * MIB).getVolumeId();
      String c = driver.create(name + "-c", 16 * MIB).getVolumeId();
      return new Scene(name, a, b, c, new TestGroups(CLUSTER, driver).create(name, a, b));
    }

    String id() {
      return group.getVolumeGroupId();
    }

    List<String> volumes() {
      return List.of(a, b, c);
    }
  }

  /** A call that a process dies over. */
  interface Call {
    Object send(Scene scene, TestGroups groups, Channel channel);
  }

  /** The first write of a sample. */
  static int first(int step) {
    return FULL ? 1 : 1 + (int) Math.floorMod(SEED, (long) step);
  }

  /** Sends a call to a driver that halts at a write; false if the call has not so many. */
  static boolean halts(String fault, Scene scene, Call call) throws InterruptedException {
    try (FaultyDriver faulty = FaultyDriver.start(CLUSTER, fault);
        TestDriver requests =
            TestDriver.rbd(CLUSTER).instance("requests-only").withCredentials().start()) {
      boolean answered = true;
      try {
        call.send(scene, new TestGroups(CLUSTER, requests), faulty.channel());
      } catch (StatusRuntimeException e) {
        assertThat(e.getStatus().getCode()).as(fault).isEqualTo(Code.UNAVAILABLE);
        answered = false;
      }
      boolean halted = faulty.halted(FaultyDriver.ending(answered));
      assertThat(halted || answered).as(fault).isTrue();
      if (!halted) {
        faulty.end(); // else the images that it removes would be in use for a while
      }
      return halted;
    }
  }

  /** What the cluster does with the lock of a driver that died, after half a minute. */
  static void forgetLocks(Set<String> before) {
    String lock = "lock.csi.java.work";
    for (String object : POOL.objects()) {
      if (object.startsWith("csi.volume.group.")
          && !before.contains(object)
          && CLUSTER.rados("-p", "rbd", "listxattr", object).contains(lock)) {
        CLUSTER.rados("-p", "rbd", "rmxattr", object, lock);
      }
    }
  }

  static void awaitNothingBut(String fault, String kept, Set<String> before) {
    Awaitility.await(fault)
        .atMost(PoolState.MANAGER_TIME)
        .pollInterval(Duration.ofMillis(300))
        .untilAsserted(
            () -> {
              Set<String> left = POOL.left(before);
              left.removeIf(object -> object.matches(kept));
              assertThat(left).isEmpty();
            });
  }

  static void whenUnused(Runnable delete) {
    Awaitility.await()
        .atMost(PoolState.MANAGER_TIME)
        .ignoreExceptionsMatching(
            e ->
                e instanceof StatusRuntimeException status
                    && (status.getStatus().getCode() == Code.FAILED_PRECONDITION
                        || status.getStatus().getCode() == Code.ABORTED))
        .until(
            () -> {
              delete.run();
              return true;
            });
  }

  /**
   * Has a driver die over a snapshot of two volumes, when one of two images is recorded.
   *
   * @param write after which it dies
   * @param before what was there
   */
  static void dieOver(
      int write, TestGroupSnapshots groups, Set<String> before, String name, String... volumes) {
    try (FaultyDriver dying = FaultyDriver.start(CLUSTER, "after," + write + ",calls")) {
      VolumeGroupSnapshot taken =
          snapshots(dying.channel())
              .createVolumeGroupSnapshot(groups.request(name, volumes).build())
              .getGroupSnapshot();
      throw new AssertionError("the call was answered: " + taken.getGroupSnapshotId());
    } catch (StatusRuntimeException e) {
      assertThat(e.getStatus().getCode()).isEqualTo(Code.UNAVAILABLE);
    }
    forgetLocks(before);
    assertThat(parts(before).filter(part -> POOL.omap(part).containsKey("csi.imageid"))).hasSize(1);
  }

  /** The journal entries of snapshots that were not there before. */
  static Stream<String> parts(Set<String> before) {
    return POOL.objects().stream()
        .filter(object -> object.startsWith("csi.snap.") && !before.contains(object));
  }

  static ControllerGrpc.ControllerBlockingStub stub(Channel channel) {
    return ControllerGrpc.newBlockingStub(channel).withWaitForReady();
  }

  static GroupControllerGrpc.GroupControllerBlockingStub snapshots(Channel channel) {
    return GroupControllerGrpc.newBlockingStub(channel).withWaitForReady();
  }

  static CreateVolumeGroupSnapshotRequest take(Scene scene, TestGroups groups, String... volumes) {
    return new TestGroupSnapshots(groups.driver())
        .request(scene.name() + "-snapshot", volumes)
        .build();
  }
}
