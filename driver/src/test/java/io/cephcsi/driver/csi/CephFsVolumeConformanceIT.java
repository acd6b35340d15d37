package io.cephcsi.driver.csi;

import static io.cephcsi.driver.testing.Statuses.assertStatus;

import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceRequest;
import io.cephcsi.proto.addons.volumegroup.ControllerGrpc;
import io.cephcsi.proto.addons.volumegroup.CreateVolumeGroupRequest;
import io.cephcsi.proto.csi.v1.ControllerModifyVolumeRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.grpc.Status.Code;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What all volumes must do, on CephFS. */
class CephFsVolumeConformanceIT extends VolumeRules {
  @BeforeAll
  static void start() {
    start(Kind.CEPHFS);
  }

  @Test
  void thereIsNothingToReclaimModifyOrGroup() {
    Volume volume = create();
    assertStatus(
        Code.UNIMPLEMENTED,
        () ->
            driver
                .reclaim()
                .controllerReclaimSpace(
                    ControllerReclaimSpaceRequest.newBuilder()
                        .setVolumeId(volume.getVolumeId())
                        .build()));
    assertStatus(
        Code.UNIMPLEMENTED,
        () ->
            controller()
                .controllerModifyVolume(
                    ControllerModifyVolumeRequest.newBuilder()
                        .setVolumeId(volume.getVolumeId())
                        .putMutableParameters("csi.storage.k8s.io/pvc/name", "claim")
                        .putMutableParameters("qos.iopsLimit", "1")
                        .build()));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "cannot be grouped",
        () ->
            ControllerGrpc.newBlockingStub(driver.channel())
                .createVolumeGroup(
                    CreateVolumeGroupRequest.newBuilder()
                        .setName("group")
                        .addVolumeIds(volume.getVolumeId())
                        .build()));
    driver.delete(volume.getVolumeId());
  }

  @Test
  void blockVolumesAndPlacesThatAreNotThereAreInvalid() {
    assertStatus(
        Code.INVALID_ARGUMENT,
        "block",
        () ->
            controller()
                .createVolume(
                    driver
                        .createRequest(newName(), MIB)
                        .addVolumeCapabilities(Kind.CEPHFS.unsupported())
                        .build()));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "no-such-fs",
        () ->
            controller()
                .createVolume(
                    driver
                        .createRequest(newName(), MIB)
                        .putParameters("fsName", "no-such-fs")
                        .build()));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "is no data pool",
        () ->
            controller()
                .createVolume(
                    driver
                        .createRequest(newName(), MIB)
                        .putParameters("pool", "no-such-pool")
                        .build()));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "fsName",
        () ->
            controller()
                .createVolume(
                    driver.createRequest(newName(), MIB).removeParameters("fsName").build()));
  }

  @Test
  void theAdminsSecretsAreTakenToo() {
    Map<String, String> secrets =
        Map.of(
            "adminID", driver.secrets().get("userID"), "adminKey", driver.secrets().get("userKey"));
    Volume volume =
        controller()
            .createVolume(
                driver.createRequest(newName(), MIB).clearSecrets().putAllSecrets(secrets).build())
            .getVolume();
    driver.delete(volume.getVolumeId());
  }
}
