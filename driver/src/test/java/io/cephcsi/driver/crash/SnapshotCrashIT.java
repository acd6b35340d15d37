package io.cephcsi.driver.crash;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.CreateSnapshotRequest;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** The driver dies over calls on snapshots, which are clones of images or snapshots of them. */
class SnapshotCrashIT extends RbdCrashCase {

  @Test
  void createSnapshot() throws InterruptedException {
    new Attempts(
            false,
            "calls",
            1,
            (scene, controller) -> controller.createSnapshot(imageSnapshot(scene)),
            scene -> {
              Snapshot snapshot =
                  scene.driver().snapshot(scene.name(), scene.volume().getVolumeId());
              String image = TestDriver.image(snapshot);
              scene.hasContent(image + "@" + image);
              scene.driver().deleteSnapshot(snapshot.getSnapshotId());
            })
        .survive();
  }

  @Test
  void deleteSnapshot() throws InterruptedException {
    new Attempts(false, "calls", 0, SnapshotCrashIT::deleteSnapshot, SnapshotCrashIT::nothing)
        .survive();
  }

  @Test
  void theTrashIsEmptiedByTheNextDriver() throws InterruptedException {
    new Attempts(false, "trash", 0, SnapshotCrashIT::deleteSnapshot, SnapshotCrashIT::nothing)
        .survive();
  }

  private static CreateSnapshotRequest nativeSnapshot(Scene scene) {
    return scene
        .driver()
        .snapshotRequest(scene.name(), scene.volume().getVolumeId())
        .putParameters("snapshotMode", "native")
        .build();
  }

  private static Snapshot takeNative(Scene scene) {
    return scene.driver().controller().createSnapshot(nativeSnapshot(scene)).getSnapshot();
  }

  private static void restoreAndDelete(Scene scene, String snapshotId) {
    Volume restored = scene.driver().restore(scene.name(), 20 * MIB, snapshotId);
    assertThat(POOL.info(TestDriver.image(restored)).path("size").asLong()).isEqualTo(20 * MIB);
    scene.driver().delete(restored.getVolumeId());
    scene.driver().deleteSnapshot(snapshotId);
  }

  @Test
  void createNativeSnapshot() throws InterruptedException {
    new Attempts(
            false,
            "calls",
            0,
            (scene, controller) -> controller.createSnapshot(nativeSnapshot(scene)),
            scene -> {
              String id = takeNative(scene).getSnapshotId();
              Volume restored = scene.driver().restore(scene.name(), 0, id);
              scene.hasContent(TestDriver.image(restored));
              scene.driver().delete(restored.getVolumeId());
              scene.driver().deleteSnapshot(id);
            })
        .survive();
  }

  @Test
  void deleteNativeSnapshot() throws InterruptedException {
    Map<String, String> taken = new HashMap<>();
    new Attempts(
            false,
            "calls",
            0,
            scene -> taken.put(scene.name(), takeNative(scene).getSnapshotId()),
            (scene, controller) ->
                deleteSnapshot(scene, controller, taken.getOrDefault(scene.name(), "")),
            SnapshotCrashIT::nothing)
        .survive();
  }

  @Test
  void deleteNativeSnapshotOfADeletedVolume() throws InterruptedException {
    Map<String, String> taken = new HashMap<>();
    new Attempts(
            false,
            "calls",
            1,
            scene -> {
              taken.put(scene.name(), takeNative(scene).getSnapshotId());
              scene.driver().delete(scene.volume().getVolumeId());
            },
            (scene, controller) ->
                deleteSnapshot(scene, controller, taken.getOrDefault(scene.name(), "")),
            SnapshotCrashIT::nothing)
        .survive();
  }

  @Test
  void createVolumeFromNativeSnapshot() throws InterruptedException {
    fromNative(0, scene -> {});
  }

  @Test
  void createVolumeFromNativeSnapshotOfADeletedVolume() throws InterruptedException {
    fromNative(2, scene -> scene.driver().delete(scene.volume().getVolumeId()));
  }

  private static void fromNative(int offset, Consumer<Scene> before) throws InterruptedException {
    Map<String, String> taken = new HashMap<>();
    new Attempts(
            false,
            "calls",
            offset,
            scene -> {
              taken.put(scene.name(), takeNative(scene).getSnapshotId());
              before.accept(scene);
            },
            (scene, controller) ->
                controller.createVolume(
                    scene
                        .driver()
                        .restoreRequest(
                            scene.name(), 20 * MIB, taken.getOrDefault(scene.name(), ""))
                        .build()),
            scene -> restoreAndDelete(scene, taken.getOrDefault(scene.name(), "")))
        .survive();
  }

  @Test
  void deleteVolumeWithANativeSnapshot() throws InterruptedException {
    Map<String, String> taken = new HashMap<>();
    new Attempts(
            false,
            "calls",
            0,
            scene -> taken.put(scene.name(), takeNative(scene).getSnapshotId()),
            (scene, controller) -> deleteVolume(scene, controller, scene.volume()),
            scene -> restoreAndDelete(scene, taken.getOrDefault(scene.name(), "")))
        .survive();
  }

  @Test
  void theNextDriverPurgesAVolumeThatTheTrashKeptForASnapshot() throws InterruptedException {
    Map<String, String> taken = new HashMap<>();
    new Attempts(
            false,
            "trash",
            0,
            scene -> {
              taken.put(scene.name(), takeNative(scene).getSnapshotId());
              scene.driver().delete(scene.volume().getVolumeId());
            },
            (scene, controller) ->
                deleteSnapshot(scene, controller, taken.getOrDefault(scene.name(), "")),
            SnapshotCrashIT::nothing)
        .survive();
  }
}
