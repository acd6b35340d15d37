package io.cephcsi.driver.crash;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.DriverSeat;
import io.cephcsi.driver.testing.ServedProcess;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.ControllerGrpc.ControllerBlockingStub;
import io.cephcsi.proto.csi.v1.CreateSnapshotRequest;
import io.cephcsi.proto.csi.v1.DeleteSnapshotRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.TestCluster;
import io.cephcsi.testing.Tries;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * A driver is killed at any moment of its work, again and again, and always started anew: how soon
 * is a call on another volume answered, and one on the same? 5 kills for each storage, {@code
 * CEPH_CSI_TEST_KILLS} says otherwise; the times are printed.
 */
class KillTimesIT {
  private static final long MIB = 1L << 20;
  private static final int KILLS = kills();

  /** Less than the cluster itself needs, on a machine that others use, too. */
  private static final Duration SOON = Duration.ofSeconds(20);

  private static final TestCluster CEPH = TestCluster.shared();
  private static final Set<Code> REPEATED =
      EnumSet.of(Code.ABORTED, Code.UNAVAILABLE, Code.FAILED_PRECONDITION, Code.DEADLINE_EXCEEDED);

  @RegisterExtension static final TestDriver RBD = TestDriver.rbd(CEPH).start();
  @RegisterExtension static final TestDriver FILES = TestDriver.cephFs(CEPH).start();

  private static int kills() {
    String given = System.getenv("CEPH_CSI_TEST_KILLS");
    return given == null ? 5 : Integer.parseInt(given);
  }

  @Test
  void imagesAreServedSoonAfterAKill() {
    Tries.times(1, values -> killAgainAndAgain(RBD, CEPH.rbdUser(), values));
  }

  @Test
  void subvolumesAreServedSoonAfterAKill() {
    Tries.times(1, values -> killAgainAndAgain(FILES, CEPH.cephFsUser(), values));
  }

  private static void killAgainAndAgain(TestDriver requests, String user, Tries values)
      throws Exception {
    List<Long> others = new ArrayList<>();
    List<Long> same = new ArrayList<>();
    ExecutorService work = Executors.newSingleThreadExecutor();
    String run = "kill-" + UUID.randomUUID();
    try (DriverSeat seat = new DriverSeat(requests.type(), CEPH, user, List.of())) {
      Volume volume = requests.create(run, 16 * MIB);
      ServedProcess process = seat.start();
      for (int i = 0; i < KILLS; i++) {
        ControllerBlockingStub victim = seat.controller(process);
        String name = run + "-" + i;
        Future<?> running = work.submit(() -> live(requests, victim, name, volume));
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(values.between(1, 600)));
        process.kill();
        process.close();
        running.get();
        process = seat.start();
        ControllerBlockingStub next = seat.controller(process);
        long ready = System.nanoTime();
        Volume other = repeated(() -> create(requests, next, name + "-other"));
        others.add(millisSince(ready));
        repeated(() -> live(requests, next, name, volume));
        same.add(millisSince(ready));
        repeated(() -> delete(requests, next, other));
      }
      ControllerBlockingStub last = seat.controller(process);
      repeated(() -> delete(requests, last, volume));
      process.close();
    } finally {
      work.shutdownNow();
    }
    System.out.println(
        requests.type()
            + ": "
            + KILLS
            + " kills; ms until another volume "
            + spread(others)
            + ", until all calls on the same "
            + spread(same));
    assertThat(Collections.max(same)).isLessThan(SOON.toMillis());
  }

  /** Snapshots, a volume of one, and the end of all of them. */
  private static boolean live(
      TestDriver requests, ControllerBlockingStub driver, String name, Volume volume) {
    try {
      CreateSnapshotRequest request = requests.snapshotRequest(name, volume.getVolumeId()).build();
      String snapshot = driver.createSnapshot(request).getSnapshot().getSnapshotId();
      Volume made =
          driver.createVolume(requests.createRequest(name + "-made", 16 * MIB).build()).getVolume();
      assertThat(driver.createSnapshot(request).getSnapshot().getSnapshotId()).isEqualTo(snapshot);
      delete(requests, driver, made);
      return driver
          .deleteSnapshot(
              DeleteSnapshotRequest.newBuilder()
                  .setSnapshotId(snapshot)
                  .putAllSecrets(requests.secrets())
                  .build())
          .isInitialized();
    } catch (StatusRuntimeException e) {
      if (REPEATED.contains(e.getStatus().getCode())) {
        return false;
      }
      throw e;
    }
  }

  private static Volume create(TestDriver requests, ControllerBlockingStub driver, String name) {
    return driver.createVolume(requests.createRequest(name, 16 * MIB).build()).getVolume();
  }

  private static boolean delete(TestDriver requests, ControllerBlockingStub driver, Volume volume) {
    return driver
        .deleteVolume(
            DeleteVolumeRequest.newBuilder()
                .setVolumeId(volume.getVolumeId())
                .putAllSecrets(requests.secrets())
                .build())
        .isInitialized();
  }

  private static <T> T repeated(Supplier<T> call) {
    long end = System.nanoTime() + 4 * SOON.toNanos();
    while (true) {
      try {
        T answer = call.get();
        if (!Boolean.FALSE.equals(answer)) {
          return answer;
        }
      } catch (StatusRuntimeException e) {
        if (!REPEATED.contains(e.getStatus().getCode()) || System.nanoTime() > end) {
          throw e;
        }
      }
      assertThat(System.nanoTime()).isLessThan(end);
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
    }
  }

  private static long millisSince(long nanos) {
    return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - nanos);
  }

  private static String spread(List<Long> millis) {
    List<Long> sorted = millis.stream().sorted().toList();
    return "median "
        + sorted.get(sorted.size() / 2)
        + ", 90 % "
        + sorted.get(sorted.size() * 9 / 10)
        + ", most "
        + sorted.get(sorted.size() - 1);
  }
}
