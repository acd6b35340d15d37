package io.cephcsi.driver.csi;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.CapacityRange;
import io.cephcsi.proto.csi.v1.ControllerGetCapabilitiesRequest;
import io.cephcsi.proto.csi.v1.ControllerGetVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerModifyVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerServiceCapability.RPC;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.GetCapacityRequest;
import io.cephcsi.proto.csi.v1.GetPluginCapabilitiesRequest;
import io.cephcsi.proto.csi.v1.GetPluginInfoRequest;
import io.cephcsi.proto.csi.v1.GetSnapshotRequest;
import io.cephcsi.proto.csi.v1.ListSnapshotsRequest;
import io.cephcsi.proto.csi.v1.ListVolumesRequest;
import io.cephcsi.proto.csi.v1.PluginCapability;
import io.cephcsi.proto.csi.v1.ProbeRequest;
import io.cephcsi.proto.csi.v1.ValidateVolumeCapabilitiesRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeContentSource;
import io.grpc.Status.Code;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/**
 * The rules of CSI 1.12 for Identity and for the controller's calls on volumes and snapshots, for
 * every kind of storage.
 */
abstract class VolumeRules extends ConformanceCase {
  @Nested
  class GetPluginInfo {
    @Test
    void theNameIsADomainAndThereIsAVersion() {
      var info = driver.identity().getPluginInfo(GetPluginInfoRequest.getDefaultInstance());
      assertThat(info.getName())
          .hasSizeLessThanOrEqualTo(63)
          .matches("[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?");
      assertThat(info.getVendorVersion()).isNotEmpty();
    }
  }

  @Nested
  class Probe {
    @Test
    void theDriverGetsReady() {
      Awaitility.await()
          .until(
              () ->
                  driver.identity().probe(ProbeRequest.getDefaultInstance()).getReady().getValue());
    }
  }

  @Nested
  class TextOfRequests {
    @Test
    void aNulInAPrefixIsRefusedBeforeAnythingIsWritten() {
      for (String prefix : List.of("\0", "a\0b", "a\nb", "\u001b[2K")) {
        String name = newName();
        var request = driver.createRequest(name, SIZE);
        assertInvalid(
            "volumeNamePrefix",
            controller()::createVolume,
            request.clone().putParameters("volumeNamePrefix", prefix).build());
        driver.delete(controller().createVolume(request.build()).getVolume().getVolumeId());
      }
      assertThat(controller().listVolumes(ListVolumesRequest.getDefaultInstance())).isNotNull();
    }
  }

  @Nested
  class Capabilities {
    private static List<RPC.Type> of(TestDriver driver) {
      return driver
          .controller()
          .controllerGetCapabilities(ControllerGetCapabilitiesRequest.getDefaultInstance())
          .getCapabilitiesList()
          .stream()
          .map(capability -> capability.getRpc().getType())
          .toList();
    }

    @Test
    void ofThePluginAreThoseThatAreServed() {
      var capabilities =
          driver
              .identity()
              .getPluginCapabilities(GetPluginCapabilitiesRequest.getDefaultInstance())
              .getCapabilitiesList();
      assertThat(capabilities)
          .extracting(capability -> capability.getService().getType())
          .contains(PluginCapability.Service.Type.CONTROLLER_SERVICE)
          .satisfies(
              types ->
                  assertThat(
                          types.contains(
                              PluginCapability.Service.Type.VOLUME_ACCESSIBILITY_CONSTRAINTS))
                      .isEqualTo(kind.hasTopology()));
      assertThat(capabilities)
          .anyMatch(
              c ->
                  c.getVolumeExpansion().getType() == PluginCapability.VolumeExpansion.Type.ONLINE);
    }

    @Test
    void withCredentialsEverythingIsAdvertised() {
      List<RPC.Type> expected =
          new ArrayList<>(
              List.of(
                  RPC.Type.CREATE_DELETE_VOLUME,
                  RPC.Type.PUBLISH_UNPUBLISH_VOLUME,
                  RPC.Type.LIST_VOLUMES,
                  RPC.Type.GET_CAPACITY,
                  RPC.Type.CREATE_DELETE_SNAPSHOT,
                  RPC.Type.LIST_SNAPSHOTS,
                  RPC.Type.CLONE_VOLUME,
                  RPC.Type.PUBLISH_READONLY,
                  RPC.Type.EXPAND_VOLUME,
                  RPC.Type.LIST_VOLUMES_PUBLISHED_NODES,
                  RPC.Type.VOLUME_CONDITION,
                  RPC.Type.GET_VOLUME,
                  RPC.Type.SINGLE_NODE_MULTI_WRITER,
                  RPC.Type.GET_SNAPSHOT));
      expected.addAll(kind.moreCapabilities());
      assertThat(of(driver)).doesNotHaveDuplicates().containsExactlyInAnyOrderElementsOf(expected);
    }

    @Test
    void whatIsNotAdvertisedIsUnimplemented() {
      try (TestDriver without = kind.start(CLUSTER, "default", false)) {
        assertThat(of(without))
            .containsExactlyInAnyOrder(
                RPC.Type.CREATE_DELETE_VOLUME,
                RPC.Type.CREATE_DELETE_SNAPSHOT,
                RPC.Type.CLONE_VOLUME,
                RPC.Type.EXPAND_VOLUME,
                RPC.Type.SINGLE_NODE_MULTI_WRITER);
        var other = without.controller();
        Code code = Code.UNIMPLEMENTED;
        assertStatus(code, () -> other.listVolumes(ListVolumesRequest.getDefaultInstance()));
        assertStatus(code, () -> other.listSnapshots(ListSnapshotsRequest.getDefaultInstance()));
        assertStatus(code, () -> other.getCapacity(GetCapacityRequest.getDefaultInstance()));
        assertStatus(
            code,
            () -> other.getSnapshot(GetSnapshotRequest.newBuilder().setSnapshotId("x").build()));
        assertStatus(
            code,
            () ->
                other.controllerGetVolume(
                    ControllerGetVolumeRequest.newBuilder().setVolumeId("x").build()));
        assertStatus(code, () -> other.controllerPublishVolume(publish("x", "node-1").build()));
        assertStatus(code, () -> other.controllerUnpublishVolume(unpublish("x", "y").build()));
        assertStatus(
            code,
            () -> other.controllerModifyVolume(ControllerModifyVolumeRequest.getDefaultInstance()));
      }
    }
  }

  @Nested
  class CreateVolume {
    private final CreateVolumeRequest request = driver.createRequest(newName(), SIZE).build();

    private void assertRefused(Code code, String text, CreateVolumeRequest.Builder changed) {
      assertStatus(code, text, () -> controller().createVolume(changed.build()));
    }

    @Test
    void requiredFieldsAndLimitsAreChecked() {
      Code invalid = Code.INVALID_ARGUMENT;
      assertRefused(invalid, "name", request.toBuilder().clearName());
      assertRefused(invalid, "name", request.toBuilder().setName("n".repeat(129)));
      assertRefused(invalid, "volume_capabilities", request.toBuilder().clearVolumeCapabilities());
      assertRefused(
          invalid,
          "access_type",
          request.toBuilder()
              .setVolumeCapabilities(
                  0, TestDriver.singleWriter().toBuilder().clearMount().build()));
      assertRefused(
          invalid,
          "access_mode",
          request.toBuilder()
              .setVolumeCapabilities(
                  0, TestDriver.singleWriter().toBuilder().clearAccessMode().build()));
      assertRefused(
          invalid, "parameters", request.toBuilder().putParameters("k", "v".repeat(4096)));
      assertRefused(
          invalid, "mutable_parameters", request.toBuilder().putMutableParameters("no", "such"));
      assertRefused(
          invalid,
          "required_bytes",
          request.toBuilder().setCapacityRange(CapacityRange.newBuilder().setRequiredBytes(-1)));
      assertRefused(Code.UNAUTHENTICATED, "userID", request.toBuilder().clearSecrets());
    }

    @Test
    void usesThatEveryNodeRefusesAreRefused() {
      refusedByNodes()
          .forEach(
              (field, use) ->
                  assertRefused(
                      Code.INVALID_ARGUMENT,
                      field,
                      request.toBuilder().setVolumeCapabilities(0, use)));
    }

    @Test
    void usesWithFlagsThatNodesTakeWork() {
      for (String fsType : List.of("", "ext4", "xfs")) {
        VolumeCapability use =
            mounted(
                mount ->
                    mount
                        .setFsType(fsType)
                        .addMountFlags("rw,noatime,nodev")
                        .addMountFlags("sync")
                        .setVolumeMountGroup("1000"));
        driver.delete(
            driver
                .create(request.toBuilder().setName(newName()).setVolumeCapabilities(0, use))
                .getVolumeId());
      }
    }

    @Test
    void aNameAsLongAsAllowedWorks() {
      Volume volume =
          controller()
              .createVolume(request.toBuilder().setName("n".repeat(128)).build())
              .getVolume();
      assertThat(volume.getVolumeId()).isNotEmpty().hasSizeLessThanOrEqualTo(128);
      driver.delete(volume.getVolumeId());
    }

    @Test
    void twiceIsOnceAndAnotherSizeAlreadyExists() {
      Volume first = controller().createVolume(request).getVolume();
      assertThat(first.getCapacityBytes()).isEqualTo(SIZE);
      assertThat(controller().createVolume(request).getVolume()).isEqualTo(first);
      assertRefused(
          Code.ALREADY_EXISTS,
          "",
          request.toBuilder()
              .setCapacityRange(CapacityRange.newBuilder().setRequiredBytes(2 * SIZE)));
      driver.delete(first.getVolumeId());
    }

    @Test
    void aSizeThatNothingCanHaveIsOutOfRange() {
      Volume volume = create();
      for (long bytes : new long[] {1L << 61, (1L << 63) - 4097, Long.MAX_VALUE}) {
        assertRefused(
            Code.OUT_OF_RANGE,
            "",
            request.toBuilder()
                .setCapacityRange(CapacityRange.newBuilder().setRequiredBytes(bytes)));
        assertStatus(
            Code.OUT_OF_RANGE,
            () -> controller().controllerExpandVolume(expand(volume.getVolumeId(), bytes).build()));
      }
      driver.delete(volume.getVolumeId());
    }

    @Test
    void aSizeThatCannotBeIsOutOfRange() {
      assertRefused(
          Code.OUT_OF_RANGE,
          "",
          request.toBuilder()
              .setCapacityRange(CapacityRange.newBuilder().setRequiredBytes(1).setLimitBytes(2)));
    }

    @Test
    void sourcesThatDoNotExistAreNotFound() {
      assertRefused(
          Code.NOT_FOUND, "", request.toBuilder().setVolumeContentSource(fromSnapshot(NOBODY)));
      assertRefused(
          Code.NOT_FOUND, "", request.toBuilder().setVolumeContentSource(fromVolume(NOBODY)));
      assertRefused(
          Code.NOT_FOUND, "", request.toBuilder().setVolumeContentSource(fromVolume("no id")));
    }

    @Test
    void theAnswerNamesItsSource() {
      Volume source = create();
      VolumeContentSource from = fromVolume(source.getVolumeId());
      Volume copy = await(request.toBuilder().setVolumeContentSource(from).build());
      assertThat(copy.getContentSource()).isEqualTo(from);
      driver.delete(copy.getVolumeId());
      driver.delete(source.getVolumeId());
    }

    private static VolumeContentSource fromVolume(String id) {
      return VolumeContentSource.newBuilder()
          .setVolume(VolumeContentSource.VolumeSource.newBuilder().setVolumeId(id))
          .build();
    }

    private static VolumeContentSource fromSnapshot(String id) {
      return VolumeContentSource.newBuilder()
          .setSnapshot(VolumeContentSource.SnapshotSource.newBuilder().setSnapshotId(id))
          .build();
    }
  }

  @Nested
  class DeleteVolume {
    @Test
    void requiredFieldsAreChecked() {
      assertInvalid("volume_id", controller()::deleteVolume, delete("").build());
    }

    @Test
    void whatDoesNotExistIsDeletedAndTwiceIsOnce() {
      assertThat(controller().deleteVolume(delete("no id").build())).isNotNull();
      assertThat(controller().deleteVolume(delete(NOBODY).build())).isNotNull();
      String id = create().getVolumeId();
      assertThat(controller().deleteVolume(delete(id).build())).isNotNull();
      assertThat(controller().deleteVolume(delete(id).build())).isNotNull();
    }
  }

  @Nested
  class ValidateVolumeCapabilities {
    private final ValidateVolumeCapabilitiesRequest.Builder request =
        ValidateVolumeCapabilitiesRequest.newBuilder()
            .setVolumeId(NOBODY)
            .addVolumeCapabilities(TestDriver.singleWriter())
            .putAllSecrets(driver.secrets());

    @Test
    void requiredFieldsAreChecked() {
      assertInvalid(
          "volume_id",
          controller()::validateVolumeCapabilities,
          request.clone().clearVolumeId().build());
      assertInvalid(
          "volume_capabilities",
          controller()::validateVolumeCapabilities,
          request.clone().clearVolumeCapabilities().build());
    }

    @Test
    void aVolumeThatDoesNotExistIsNotFound() {
      assertStatus(Code.NOT_FOUND, () -> controller().validateVolumeCapabilities(request.build()));
    }

    @Test
    void onlyWhatAllAreSupportedIsConfirmed() {
      Volume volume = create();
      var confirmed =
          controller()
              .validateVolumeCapabilities(request.setVolumeId(volume.getVolumeId()).build())
              .getConfirmed();
      assertThat(confirmed.getVolumeCapabilitiesList())
          .isEqualTo(request.getVolumeCapabilitiesList());
      var refused =
          controller()
              .validateVolumeCapabilities(
                  request.addVolumeCapabilities(kind.unsupported()).build());
      assertThat(refused.hasConfirmed()).isFalse();
      assertThat(refused.getMessage()).isNotEmpty();
      refusedByNodes()
          .forEach(
              (field, use) -> {
                var answer =
                    controller()
                        .validateVolumeCapabilities(
                            request.clearVolumeCapabilities().addVolumeCapabilities(use).build());
                assertThat(answer.hasConfirmed()).isFalse();
                assertThat(answer.getMessage()).contains(field);
              });
      driver.delete(volume.getVolumeId());
    }

    @Test
    void onlyWhatWasLookedAtIsConfirmed() {
      Volume volume = create();
      request
          .setVolumeId(volume.getVolumeId())
          .putAllVolumeContext(volume.getVolumeContextMap())
          .putVolumeContext("no", "such")
          .putAllParameters(driver.parameters());
      var confirmed = controller().validateVolumeCapabilities(request.build()).getConfirmed();
      assertThat(confirmed.getVolumeCapabilitiesList())
          .isEqualTo(request.getVolumeCapabilitiesList());
      assertThat(confirmed.getParametersMap()).isEqualTo(driver.parameters());
      assertThat(confirmed.getVolumeContextMap()).isEmpty();

      var mutable =
          controller()
              .validateVolumeCapabilities(
                  request.clone().putMutableParameters("no", "such").build());
      assertThat(mutable.hasConfirmed()).isFalse();
      assertThat(mutable.getMessage()).contains("mutable_parameters");
      mutable =
          controller()
              .validateVolumeCapabilities(
                  request.clone().clearParameters().putMutableParameters("no", "such").build());
      assertThat(mutable.hasConfirmed()).isFalse();
      var other =
          controller()
              .validateVolumeCapabilities(
                  request.clone().clearParameters().putParameters("no", "such").build());
      assertThat(other.hasConfirmed()).isFalse();
      assertThat(other.getMessage()).contains("clusterID");
      driver.delete(volume.getVolumeId());
    }
  }

  /** Uses that no node takes, whatever the volume, by a word of the reason. */
  private static Map<String, VolumeCapability> refusedByNodes() {
    Map<String, VolumeCapability> uses = new LinkedHashMap<>();
    uses.put("uid", mounted(mount -> mount.addMountFlags("uid=1000")));
    uses.put("loop", mounted(mount -> mount.addMountFlags("noatime,loop")));
    uses.put("quotation", mounted(mount -> mount.addMountFlags("\"")));
    uses.put("volume_mount_group", mounted(mount -> mount.setVolumeMountGroup("staff")));
    if (kind == Kind.RBD) {
      uses.put("btrfs", mounted(mount -> mount.setFsType("btrfs")));
      uses.put("ext3", mounted(mount -> mount.setFsType("ext3")));
      uses.put("rasize", mounted(mount -> mount.addMountFlags("rasize=4096")));
      uses.put("largeio", mounted(mount -> mount.setFsType("ext4").addMountFlags("largeio")));
    }
    return uses;
  }

  private static VolumeCapability mounted(
      UnaryOperator<VolumeCapability.MountVolume.Builder> change) {
    return TestDriver.singleWriter().toBuilder()
        .setMount(change.apply(VolumeCapability.MountVolume.newBuilder()))
        .build();
  }

  @Nested
  class ControllerExpandVolume {
    @Test
    void requiredFieldsAreChecked() {
      assertInvalid("volume_id", controller()::controllerExpandVolume, expand("", MIB).build());
      assertInvalid(
          "capacity_range",
          controller()::controllerExpandVolume,
          expand(NOBODY, MIB).clearCapacityRange().build());
      assertStatus(
          Code.NOT_FOUND, () -> controller().controllerExpandVolume(expand(NOBODY, MIB).build()));
    }

    @Test
    void twiceIsOnce() {
      Volume volume = create();
      for (int i = 0; i < 2; i++) {
        var answer =
            controller().controllerExpandVolume(expand(volume.getVolumeId(), 2 * SIZE).build());
        assertThat(answer.getCapacityBytes()).isEqualTo(2 * SIZE);
        assertThat(answer.getNodeExpansionRequired()).isEqualTo(kind.expandsOnNode());
      }
      driver.delete(volume.getVolumeId());
    }
  }

  @Nested
  class SnapshotCreateAndDelete {
    @Test
    void requiredFieldsAreChecked() {
      assertInvalid("name", controller()::createSnapshot, snapshot("", NOBODY).build());
      assertInvalid("source_volume_id", controller()::createSnapshot, snapshot("s", "").build());
      assertInvalid(
          "name", controller()::createSnapshot, snapshot("s".repeat(129), NOBODY).build());
      assertInvalid("snapshot_id", controller()::deleteSnapshot, deleteSnapshot("").build());
      assertStatus(
          Code.NOT_FOUND, () -> controller().createSnapshot(snapshot("s", NOBODY).build()));
    }

    @Test
    void twiceIsOnceAndAnotherSourceAlreadyExists() {
      Volume volume = create();
      Volume other = create();
      String name = "snap-" + newName();
      var first = controller().createSnapshot(snapshot(name, volume.getVolumeId()).build());
      assertThat(first.getSnapshot().getReadyToUse()).isTrue();
      assertThat(controller().createSnapshot(snapshot(name, volume.getVolumeId()).build()))
          .isEqualTo(first);
      assertStatus(
          Code.ALREADY_EXISTS,
          () -> controller().createSnapshot(snapshot(name, other.getVolumeId()).build()));
      String id = first.getSnapshot().getSnapshotId();
      for (int i = 0; i < 2; i++) {
        assertThat(controller().deleteSnapshot(deleteSnapshot(id).build())).isNotNull();
      }
      assertThat(controller().deleteSnapshot(deleteSnapshot("no id").build())).isNotNull();
      driver.delete(volume.getVolumeId());
      driver.delete(other.getVolumeId());
    }
  }
}
