package io.cephcsi.driver.crash;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.ControllerPublishVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerUnpublishVolumeRequest;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** The driver dies over a call, and before the call is repeated, something else changes. */
class MeanwhileCrashIT extends RbdCrashCase {

  private static void expandSource(Scene scene, long bytes) {
    assertThat(scene.driver().expand(scene.volume().getVolumeId(), bytes)).isEqualTo(bytes);
  }

  private static Instant time(Snapshot snapshot) {
    return Instant.ofEpochSecond(
        snapshot.getCreationTime().getSeconds(), snapshot.getCreationTime().getNanos());
  }

  /** A snapshot shows what was written before the time that it says of itself, and no more. */
  @Test
  void createSnapshotOfAVolumeThatIsWrittenMeanwhile() throws InterruptedException {
    Map<String, Instant> written = new HashMap<>();
    new Attempts(
            false,
            "calls",
            2,
            (scene, controller) -> controller.createSnapshot(imageSnapshot(scene)),
            scene -> {
              Snapshot snapshot =
                  scene.driver().snapshot(scene.name(), scene.volume().getVolumeId());
              String image = TestDriver.image(snapshot);
              if (time(snapshot).isAfter(written.get(scene.name()))) {
                int now = CONTENT.checksum("rbd/" + TestDriver.image(scene.volume()));
                assertThat(CONTENT.checksum("rbd/" + image + "@" + image)).isEqualTo(now);
              } else {
                scene.hasContent(image + "@" + image);
              }
              scene.driver().deleteSnapshot(snapshot.getSnapshotId());
            })
        .between(
            scene -> {
              CONTENT.write("rbd/" + TestDriver.image(scene.volume()), 6);
              written.put(scene.name(), Instant.now());
            })
        .surviveAt(3);
  }

  /** A clone is as large as the answer says, whenever its source grew. */
  @Test
  void createVolumeFromAVolumeThatGrowsMeanwhile() throws InterruptedException {
    new Attempts(
            false,
            "calls",
            2,
            (scene, controller) ->
                controller.createVolume(
                    scene
                        .driver()
                        .cloneRequest(scene.name(), 0, scene.volume().getVolumeId())
                        .build()),
            scene -> {
              Volume copy = scene.driver().copy(scene.name(), 0, scene.volume().getVolumeId());
              assertThat(size(TestDriver.image(copy))).isEqualTo(copy.getCapacityBytes());
              scene.driver().delete(copy.getVolumeId());
            })
        .between(scene -> expandSource(scene, 32 * MIB))
        .surviveAt(3);
  }

  /** A repetition that asks for something else gets that, and nothing is left of the first. */
  @Test
  void createVolumeWithoutSourceAndLargerAfterItWasToBeAClone() throws InterruptedException {
    Map<String, Boolean> repeated = new HashMap<>();
    new Attempts(
            false,
            "calls",
            0,
            (scene, controller) ->
                repeated.containsKey(scene.name())
                    ? codeOr(
                        Code.ALREADY_EXISTS,
                        () -> scene.driver().create(scene.name(), 32 * MIB).getCapacityBytes())
                    : controller.createVolume(
                        scene
                            .driver()
                            .cloneRequest(scene.name(), 0, scene.volume().getVolumeId())
                            .build()),
            scene -> deleteByName(scene, 32 * MIB))
        .between(scene -> repeated.put(scene.name(), true))
        .surviveAt(7);
  }

  /** The answer, or the code of the error, if it is this one. */
  private static Object codeOr(Code expected, Supplier<Object> call) {
    try {
      return call.get();
    } catch (StatusRuntimeException e) {
      if (e.getStatus().getCode() != expected) {
        throw e;
      }
      return expected;
    }
  }

  /** Deletes the volume of the name, if the halted call made it, or that of the repetition. */
  private static void deleteByName(Scene scene, long bytes) {
    Object answer = codeOr(Code.ALREADY_EXISTS, () -> scene.driver().create(scene.name(), bytes));
    Volume volume =
        answer instanceof Volume made
            ? made
            : scene.driver().copy(scene.name(), 0, scene.volume().getVolumeId());
    assertThat(size(TestDriver.image(volume))).isEqualTo(volume.getCapacityBytes());
    scene.driver().delete(volume.getVolumeId());
  }

  @Test
  void createVolumeOfAnotherSize() throws InterruptedException {
    Map<String, Boolean> repeated = new HashMap<>();
    new Attempts(
            false,
            "calls",
            0,
            (scene, controller) ->
                repeated.containsKey(scene.name())
                    ? codeOr(
                        Code.ALREADY_EXISTS,
                        () -> scene.driver().create(scene.name(), 32 * MIB).getCapacityBytes())
                    : controller.createVolume(
                        scene.driver().createRequest(scene.name(), 16 * MIB).build()),
            scene -> {
              Object answer =
                  codeOr(Code.ALREADY_EXISTS, () -> scene.driver().create(scene.name(), 32 * MIB));
              Volume volume =
                  answer instanceof Volume made
                      ? made
                      : scene.driver().create(scene.name(), 16 * MIB);
              assertThat(size(TestDriver.image(volume))).isEqualTo(volume.getCapacityBytes());
              scene.driver().delete(volume.getVolumeId());
            })
        .between(scene -> repeated.put(scene.name(), true))
        .surviveAt(5);
  }

  @Test
  void createSnapshotOfAVolumeThatIsDeletedMeanwhile() throws InterruptedException {
    ofDeleted(1, Map.of(), 5);
  }

  @Test
  void createNativeSnapshotOfAVolumeThatIsDeletedMeanwhile() throws InterruptedException {
    ofDeleted(0, Map.of("snapshotMode", "native"), 3);
  }

  private static void ofDeleted(int offset, Map<String, String> parameters, int... writes)
      throws InterruptedException {
    new Attempts(
            false,
            "calls",
            offset,
            (scene, controller) ->
                codeOr(
                    Code.NOT_FOUND,
                    () ->
                        controller.createSnapshot(
                            scene
                                .driver()
                                .snapshotRequest(scene.name(), scene.volume().getVolumeId())
                                .putAllParameters(parameters)
                                .build())),
            scene -> {
              Object answer =
                  codeOr(
                      Code.NOT_FOUND,
                      () -> scene.driver().snapshot(scene.name(), scene.volume().getVolumeId()));
              if (answer instanceof Snapshot snapshot) {
                Volume restored = scene.driver().restore(scene.name(), 0, snapshot.getSnapshotId());
                scene.hasContent(TestDriver.image(restored));
                scene.driver().delete(restored.getVolumeId());
                scene.driver().deleteSnapshot(snapshot.getSnapshotId());
              }
            })
        .between(
            scene -> Scene.whenUnused(() -> scene.driver().delete(scene.volume().getVolumeId())))
        .surviveAt(writes);
  }

  /** The name gets a new volume, which the deletion of the old one does not touch. */
  @Test
  void createVolumeOfTheNameOfOneWhoseDeletionWasHalted() throws InterruptedException {
    Map<String, Volume> old = new HashMap<>();
    Map<String, Volume> fresh = new HashMap<>();
    new Attempts(
            false,
            "calls",
            0,
            scene -> old.put(scene.name(), scene.driver().create(scene.name(), 16 * MIB)),
            (scene, controller) -> deleteVolume(scene, controller, old.get(scene.name())),
            scene -> {
              Volume volume = scene.driver().create(scene.name(), 16 * MIB);
              if (!fresh.get(scene.name()).equals(old.get(scene.name()))) {
                assertThat(volume).isEqualTo(fresh.get(scene.name()));
              }
              publishAndTakeBack(scene, volume);
              scene.driver().delete(volume.getVolumeId());
            })
        .between(
            scene -> {
              Volume volume = scene.driver().create(scene.name(), 16 * MIB);
              publishAndTakeBack(scene, volume);
              fresh.put(scene.name(), volume);
            })
        .surviveAt(1, 4);
  }

  private static void publishAndTakeBack(Scene scene, Volume volume) {
    ControllerPublishVolumeRequest publish =
        publish(scene).toBuilder().setVolumeId(volume.getVolumeId()).build();
    assertThat(scene.driver().controller().controllerPublishVolume(publish)).isNotNull();
    ControllerUnpublishVolumeRequest unpublish =
        unpublish(scene).toBuilder().setVolumeId(volume.getVolumeId()).build();
    assertThat(scene.driver().controller().controllerUnpublishVolume(unpublish)).isNotNull();
  }

  @Test
  void createSnapshotOfTheNameOfOneWhoseDeletionWasHalted() throws InterruptedException {
    renewed(1, Map.of(), 3);
  }

  @Test
  void createNativeSnapshotOfTheNameOfOneWhoseDeletionWasHalted() throws InterruptedException {
    renewed(0, Map.of("snapshotMode", "native"), 1);
  }

  private static void renewed(int offset, Map<String, String> parameters, int... writes)
      throws InterruptedException {
    Map<String, Snapshot> old = new HashMap<>();
    Map<String, Snapshot> fresh = new HashMap<>();
    Function<Scene, Snapshot> take =
        scene ->
            scene
                .driver()
                .controller()
                .createSnapshot(
                    scene
                        .driver()
                        .snapshotRequest(scene.name(), scene.volume().getVolumeId())
                        .putAllParameters(parameters)
                        .build())
                .getSnapshot();
    new Attempts(
            false,
            "calls",
            offset,
            scene -> old.put(scene.name(), take.apply(scene)),
            (scene, controller) ->
                deleteSnapshot(scene, controller, old.get(scene.name()).getSnapshotId()),
            scene -> {
              Snapshot snapshot = take.apply(scene);
              if (!fresh.get(scene.name()).equals(old.get(scene.name()))) {
                assertThat(snapshot).isEqualTo(fresh.get(scene.name()));
              }
              scene.driver().deleteSnapshot(snapshot.getSnapshotId());
            })
        .between(scene -> fresh.put(scene.name(), take.apply(scene)))
        .surviveAt(writes);
  }
}
