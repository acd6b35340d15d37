package io.cephcsi.driver.crash;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.ImageContent;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.testing.TestDriverBuilder;
import io.cephcsi.proto.csi.v1.ControllerGrpc.ControllerBlockingStub;
import io.cephcsi.proto.csi.v1.ControllerPublishVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerUnpublishVolumeRequest;
import io.cephcsi.proto.csi.v1.CreateSnapshotRequest;
import io.cephcsi.proto.csi.v1.DeleteSnapshotRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeRequest;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/**
 * The driver's process is halted at every write of a call on images; then another driver repeats
 * the call and deletes everything. {@code CEPH_CSI_TEST_CAMPAIGN=full} tries every write, before
 * and after it; else a sample.
 */
abstract class RbdCrashCase extends CrashCase {
  static final long MIB = 1L << 20;
  static final int SAMPLE = 12;
  static final int MAX_WRITES = 60;
  static final PoolState OTHER = new PoolState(CLUSTER, CLUSTER.otherPool());
  static final ImageContent CONTENT = new ImageContent(CLUSTER);

  private static Set<String> before = Set.of();

  /** Of the drivers of a class; set before its tests. */
  static UnaryOperator<TestDriverBuilder> settings = UnaryOperator.identity();

  /** Of its volumes, in bytes. */
  static long size = 16 * MIB;

  /** Of its processes. */
  static String[] options = {};

  private static TestDriver driver() {
    return settings.apply(TestDriver.rbd(CLUSTER).withCredentials()).start();
  }

  /** What every attempt finds: a volume with content, a snapshot of it, and clones of both. */
  record Scene(
      TestDriver driver,
      String name,
      Volume volume,
      Snapshot snapshot,
      Volume restored,
      Volume copied,
      int content) {
    static Scene set(TestDriver driver, boolean clones) {
      String name = "pvc-" + UUID.randomUUID();
      Volume volume = driver.create(name + "-source", size);
      CONTENT.write("rbd/" + TestDriver.image(volume), 5);
      Snapshot snapshot = driver.snapshot(name + "-source", volume.getVolumeId());
      return new Scene(
          driver,
          name,
          volume,
          snapshot,
          clones ? driver.restore(name + "-r", 0, snapshot.getSnapshotId()) : volume,
          clones ? driver.copy(name + "-c", 0, volume.getVolumeId()) : volume,
          CONTENT.checksum("rbd/" + TestDriver.image(volume)));
    }

    void hasContent(String image) {
      assertThat(CONTENT.checksum("rbd/" + image)).isEqualTo(content);
    }

    void deleteAll() {
      whenUnused(() -> driver.delete(restored.getVolumeId()));
      whenUnused(() -> driver.delete(copied.getVolumeId()));
      whenUnused(() -> driver.deleteSnapshot(snapshot.getSnapshotId()));
      whenUnused(() -> driver.delete(volume.getVolumeId()));
    }

    /** A process that was halted counts as a user of its images until its watch expires. */
    static void whenUnused(Runnable delete) {
      Awaitility.await()
          .atMost(PoolState.MANAGER_TIME)
          .ignoreExceptionsMatching(
              e ->
                  e instanceof StatusRuntimeException status
                      && status.getStatus().getCode() == Code.FAILED_PRECONDITION)
          .until(
              () -> {
                delete.run();
                return true;
              });
    }
  }

  /** A call under test. */
  interface Call {
    Object send(Scene scene, ControllerBlockingStub controller);
  }

  /**
   * What a call is tried with.
   *
   * @param clones whether the scene has clones
   * @param threads the prefix of the names of the threads whose writes are counted
   * @param offset of the sample, so that all calls together try many writes
   * @param prepare makes what the call needs besides
   * @param between what happens after the process was halted, before the call is repeated
   * @param call the call
   * @param undo checks what the call made, and deletes it
   */
  record Attempts(
      boolean clones,
      String threads,
      int offset,
      Consumer<Scene> prepare,
      Consumer<Scene> between,
      Call call,
      Consumer<Scene> undo) {
    Attempts(boolean clones, String threads, int offset, Call call, Consumer<Scene> undo) {
      this(clones, threads, offset, scene -> {}, call, undo);
    }

    Attempts(
        boolean clones,
        String threads,
        int offset,
        Consumer<Scene> prepare,
        Call call,
        Consumer<Scene> undo) {
      this(clones, threads, offset, prepare, scene -> {}, call, undo);
    }

    Attempts between(Consumer<Scene> work) {
      return new Attempts(clones, threads, offset, prepare, work, call, undo);
    }

    /** As {@link #survive}; the sample is these writes. */
    void surviveAt(int... writes) throws InterruptedException {
      if (FULL) {
        survive();
        return;
      }
      for (int write : writes) {
        assertThat(attempt("after," + write + "," + threads)).as("write %d", write).isTrue();
      }
    }

    void survive() throws InterruptedException {
      for (String when : FULL ? new String[] {"before", "after"} : new String[] {"after"}) {
        int step = FULL ? 1 : SAMPLE;
        boolean halted = true;
        int write = 1 + offset % step;
        for (; halted && write < MAX_WRITES; write += step) {
          halted = attempt(when + "," + write + "," + threads);
        }
        assertThat(halted).as("the call ended before %d writes", MAX_WRITES).isFalse();
        System.out.printf(
            "%s: halted %s each of writes 1 to %d%n", threads, when, write - 1 - step);
      }
    }

    /** Halts the process at one write; false if the call has not so many. */
    private boolean attempt(String fault) throws InterruptedException {
      boolean background = !threads.equals("calls");
      if (background) {
        awaitNothingBut("attempts before this one", before); // whose trash would be counted, too
      }
      Set<String> objects = FULL || background ? objects() : Set.of();
      boolean halted;
      Scene scene;
      try (TestDriver driver = driver()) {
        scene = Scene.set(driver, clones);
        prepare.accept(scene);
      }
      try (FaultyDriver faulty = FaultyDriver.start("rbd", CLUSTER, fault, options)) {
        boolean answered;
        try {
          call.send(scene, faulty.controller());
          answered = true;
        } catch (StatusRuntimeException e) {
          assertThat(e.getStatus().getCode()).as(fault).isEqualTo(Code.UNAVAILABLE);
          answered = false;
        }
        halted =
            faulty.halted(
                answered && background ? Duration.ofSeconds(3) : FaultyDriver.ending(answered));
        assertThat(halted || answered).as(fault).isTrue();
      }
      try (TestDriver restarted = driver()) {
        Scene again = withDriver(scene, restarted);
        between.accept(again);
        Object answer = call.send(again, restarted.controller());
        assertThat(call.send(again, restarted.controller())).as(fault).isEqualTo(answer);
        undo.accept(again);
        again.deleteAll();
        if (FULL || background) {
          awaitNothingBut(fault, objects);
        }
        assertThat(POOL.keys("csi.volumes.default")).noneMatch(key -> key.contains(scene.name()));
        assertThat(POOL.keys("csi.snaps.default")).noneMatch(key -> key.contains(scene.name()));
      }
      return halted;
    }
  }

  @BeforeAll
  static void look() {
    before = objects();
  }

  /** Of all attempts of a class, the first driver that works with the pool removes what is left. */
  @AfterAll
  static void nothingIsLeft() {
    try (TestDriver last = driver()) {
      last.delete(last.create("pvc-" + UUID.randomUUID(), MIB).getVolumeId());
      awaitNothingBut("all attempts", before);
    }
  }

  private static void awaitNothingBut(String when, Set<String> before) {
    Awaitility.await(when)
        .atMost(PoolState.MANAGER_TIME)
        .pollInterval(Duration.ofSeconds(1))
        .untilAsserted(() -> assertThat(left(before)).isEmpty());
  }

  static Scene withDriver(Scene scene, TestDriver driver) {
    return new Scene(
        driver,
        scene.name(),
        scene.volume(),
        scene.snapshot(),
        scene.restored(),
        scene.copied(),
        scene.content());
  }

  static Set<String> objects() {
    Set<String> objects = new TreeSet<>();
    POOL.everything().forEach(object -> objects.add("rbd/" + object));
    OTHER.everything().forEach(object -> objects.add("rbd2/" + object));
    return objects;
  }

  static Set<String> left(Set<String> before) {
    Set<String> left = objects();
    left.removeAll(before);
    return left;
  }

  static void nothing(Scene scene) {
    // the call left nothing that the scene does not delete
  }

  static String volume(Volume volume) {
    assertThat(POOL.info(TestDriver.image(volume)).path("size").asLong()).isEqualTo(size);
    return volume.getVolumeId();
  }

  static Object deleteVolume(Scene scene, ControllerBlockingStub controller, Volume volume) {
    return controller.deleteVolume(
        DeleteVolumeRequest.newBuilder()
            .setVolumeId(volume.getVolumeId())
            .putAllSecrets(scene.driver().secrets())
            .build());
  }

  static Object deleteSnapshot(Scene scene, ControllerBlockingStub controller) {
    return deleteSnapshot(scene, controller, scene.snapshot().getSnapshotId());
  }

  static Object deleteSnapshot(Scene scene, ControllerBlockingStub controller, String snapshotId) {
    return controller.deleteSnapshot(
        DeleteSnapshotRequest.newBuilder()
            .setSnapshotId(snapshotId)
            .putAllSecrets(scene.driver().secrets())
            .build());
  }

  static ControllerPublishVolumeRequest publish(Scene scene) {
    return ControllerPublishVolumeRequest.newBuilder()
        .setVolumeId(scene.volume().getVolumeId())
        .setNodeId(TestDriver.NODE_ID)
        .setVolumeCapability(TestDriver.singleWriter())
        .putAllSecrets(scene.driver().secrets())
        .build();
  }

  static ControllerUnpublishVolumeRequest unpublish(Scene scene) {
    return ControllerUnpublishVolumeRequest.newBuilder()
        .setVolumeId(scene.volume().getVolumeId())
        .setNodeId(TestDriver.NODE_ID)
        .putAllSecrets(scene.driver().secrets())
        .build();
  }

  // What happens between the halt and the repetition

  static long size(String image) {
    return POOL.info(image).path("size").asLong();
  }

  static CreateSnapshotRequest imageSnapshot(Scene scene) {
    return scene.driver().snapshotRequest(scene.name(), scene.volume().getVolumeId()).build();
  }
}
