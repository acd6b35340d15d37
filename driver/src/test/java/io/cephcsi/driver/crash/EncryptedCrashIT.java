package io.cephcsi.driver.crash;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.kms.KeyOwner;
import io.cephcsi.driver.kms.KeyWrapper;
import io.cephcsi.driver.kms.KmsConfig;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.testing.TestGroupSnapshots;
import io.cephcsi.proto.csi.v1.ControllerGrpc.ControllerBlockingStub;
import io.cephcsi.proto.csi.v1.CreateVolumeGroupSnapshotRequest;
import io.cephcsi.proto.csi.v1.GroupControllerGrpc;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeGroupSnapshot;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The driver dies over calls on encrypted volumes: each has one passphrase, its source's. */
class EncryptedCrashIT extends RbdCrashCase {
  @TempDir private static Path folder;

  private static KeyWrapper kms;

  @BeforeAll
  static void encrypt() throws IOException {
    Path file =
        Files.writeString(
            folder.resolve("kms.json"), "{\"meta\": {\"encryptionKMSType\": \"metadata\"}}");
    settings = builder -> builder.encrypted(file, "meta");
    options = new String[] {"--kms-config=" + file};
    size = 32 * MIB; // LUKS would take all of 16
    kms = (KeyWrapper) new KmsConfig(file, Optional.empty(), Map.of()).require("meta");
  }

  @AfterAll
  static void encryptNothing() {
    settings = UnaryOperator.identity();
    options = new String[0];
    size = 16 * MIB;
  }

  private static String passphrase(Scene scene, String id, String image) {
    String dek = CLUSTER.rbd("image-meta", "get", "rbd/" + image, "rbd.csi.ceph.com/dek").strip();
    return kms.unwrap(new KeyOwner(id, Optional.empty(), scene.driver().secrets()), dek).text();
  }

  private static void hasPassphraseOfSource(Scene scene, String id, String image) {
    assertThat(passphrase(scene, id, image))
        .isEqualTo(
            passphrase(scene, scene.volume().getVolumeId(), TestDriver.image(scene.volume())));
  }

  @Test
  void createVolume() throws InterruptedException {
    new Attempts(
            false,
            "calls",
            0,
            (scene, controller) ->
                controller.createVolume(scene.driver().createRequest(scene.name(), size).build()),
            scene -> {
              Volume volume = scene.driver().create(scene.name(), size);
              assertThat(passphrase(scene, volume.getVolumeId(), TestDriver.image(volume)))
                  .hasSize(28);
              scene.driver().delete(volume(volume));
            })
        .survive();
  }

  @Test
  void createVolumeFromVolume() throws InterruptedException {
    new Attempts(
            false,
            "calls",
            1,
            (scene, controller) ->
                controller.createVolume(
                    scene
                        .driver()
                        .cloneRequest(scene.name(), 0, scene.volume().getVolumeId())
                        .build()),
            scene -> {
              Volume copy = scene.driver().copy(scene.name(), 0, scene.volume().getVolumeId());
              hasPassphraseOfSource(scene, copy.getVolumeId(), TestDriver.image(copy));
              scene.hasContent(TestDriver.image(copy));
              scene.driver().delete(copy.getVolumeId());
            })
        .survive();
  }

  @Test
  void createSnapshot() throws InterruptedException {
    new Attempts(
            false,
            "calls",
            3,
            (scene, controller) -> controller.createSnapshot(imageSnapshot(scene)),
            scene -> {
              Snapshot snapshot =
                  scene.driver().snapshot(scene.name(), scene.volume().getVolumeId());
              hasPassphraseOfSource(scene, snapshot.getSnapshotId(), TestDriver.image(snapshot));
              scene.driver().deleteSnapshot(snapshot.getSnapshotId());
            })
        .survive();
  }

  @Test
  void createVolumeGroupSnapshot() throws InterruptedException {
    new Attempts(
            false,
            "calls",
            3,
            EncryptedCrashIT::take,
            scene -> {
              VolumeGroupSnapshot taken = take(scene, scene.driver().controller());
              Snapshot snapshot = taken.getSnapshots(0);
              hasPassphraseOfSource(scene, snapshot.getSnapshotId(), TestDriver.image(snapshot));
              new TestGroupSnapshots(scene.driver()).delete(taken);
            })
        .between(scene -> GroupCrashCase.forgetLocks(Set.of()))
        .survive();
  }

  /** As a CO asks for it, again until what was cut off is taken away. */
  private static VolumeGroupSnapshot take(Scene scene, ControllerBlockingStub controller) {
    CreateVolumeGroupSnapshotRequest request =
        new TestGroupSnapshots(scene.driver())
            .request(scene.name(), scene.volume().getVolumeId())
            .build();
    return Awaitility.await()
        .atMost(Duration.ofSeconds(30))
        .ignoreExceptionsMatching(
            e ->
                e instanceof StatusRuntimeException status
                    && status.getStatus().getCode() == Code.ABORTED)
        .until(
            () ->
                GroupControllerGrpc.newBlockingStub(controller.getChannel())
                    .createVolumeGroupSnapshot(request)
                    .getGroupSnapshot(),
            Objects::nonNull);
  }
}
