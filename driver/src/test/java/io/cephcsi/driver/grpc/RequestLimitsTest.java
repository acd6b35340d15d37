package io.cephcsi.driver.grpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Message;
import io.cephcsi.driver.testing.FilledMessages;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceRequest;
import io.cephcsi.proto.addons.volumegroup.CreateVolumeGroupRequest;
import io.cephcsi.proto.csi.v1.ControllerPublishVolumeRequest;
import io.cephcsi.proto.csi.v1.CreateSnapshotRequest;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.DeleteSnapshotRequest;
import io.cephcsi.proto.csi.v1.NodeGetInfoResponse;
import io.cephcsi.proto.csi.v1.NodePublishVolumeRequest;
import io.cephcsi.proto.csi.v1.NodeStageVolumeRequest;
import io.cephcsi.proto.csi.v1.Topology;
import io.cephcsi.proto.csi.v1.TopologyRequirement;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeContentSource;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class RequestLimitsTest {
  static List<Descriptor> requests() {
    return FilledMessages.types().filter(type -> type.getName().endsWith("Request")).toList();
  }

  @ParameterizedTest
  @MethodSource("requests")
  void ordinaryValuesFitEveryRequest(Descriptor type) {
    assertThatCode(() -> RequestLimits.check(FilledMessages.fill(type, field -> "v")))
        .doesNotThrowAnyException();
  }

  @Test
  void stringsHave128Bytes() {
    allowed(CreateVolumeRequest.newBuilder().setName("n".repeat(128)).build());
    refused("name", "129", CreateVolumeRequest.newBuilder().setName("n".repeat(129)).build());
    allowed(CreateVolumeRequest.newBuilder().setName("é".repeat(64)).build());
    refused("name", "130", CreateVolumeRequest.newBuilder().setName("é".repeat(65)).build());
  }

  @Test
  void repeatedStringsHave128BytesEach() {
    String id = "v".repeat(128);
    allowed(CreateVolumeGroupRequest.newBuilder().addVolumeIds(id).addVolumeIds(id).build());
    refused(
        "volume_ids",
        "129",
        CreateVolumeGroupRequest.newBuilder().addVolumeIds(id).addVolumeIds(id + "x").build());
  }

  @Test
  void nestedStringsAreMeasured() {
    refused(
        "snapshot_id",
        "200",
        CreateVolumeRequest.newBuilder()
            .setVolumeContentSource(
                VolumeContentSource.newBuilder()
                    .setSnapshot(
                        VolumeContentSource.SnapshotSource.newBuilder()
                            .setSnapshotId("s".repeat(200))))
            .build());
  }

  @Test
  void mapsHave4KiBInAll() {
    CreateVolumeRequest.Builder request = CreateVolumeRequest.newBuilder();
    for (int i = 0; i < 32; i++) {
      request.putParameters(String.format("key-%04d", i), "v".repeat(120)); // 128 bytes each
    }
    allowed(request.build());
    refused("parameters", "4097", request.putParameters("key-0000", "v".repeat(121)).build());
    refused(
        "secrets",
        "5003",
        CreateVolumeRequest.newBuilder().putSecrets("key", "v".repeat(5000)).build());
    refused(
        "segments",
        "4097",
        CreateVolumeRequest.newBuilder()
            .setAccessibilityRequirements(
                TopologyRequirement.newBuilder()
                    .addRequisite(Topology.newBuilder().putSegments("z", "s".repeat(4096))))
            .build());
  }

  @Test
  void listsAndMapsHaveOnlySoManyElements() {
    TopologyRequirement.Builder topologies = TopologyRequirement.newBuilder();
    for (int i = 0; i < 1024; i++) {
      topologies.addRequisite(Topology.getDefaultInstance());
    }
    CreateVolumeRequest.Builder request = CreateVolumeRequest.newBuilder();
    allowed(request.setAccessibilityRequirements(topologies).build());
    topologies.addRequisite(Topology.getDefaultInstance());
    refused("requisite", "1025", request.setAccessibilityRequirements(topologies).build());
    CreateVolumeRequest.Builder many = CreateVolumeRequest.newBuilder();
    for (int i = 0; i < 1000; i++) {
      many.putParameters("p" + i, "").putSecrets("s" + i, "").putMutableParameters("m" + i, "");
    }
    assertThat(RequestLimits.check(many.build())).isEqualTo(3000);
    for (int i = 0; i < 1000; i++) {
      many.addVolumeCapabilities(VolumeCapability.getDefaultInstance());
    }
    allowed(many.build());
    refused(
        "4096",
        "in a request",
        many.setAccessibilityRequirements(topologies.removeRequisite(0)).build());
  }

  @Test
  void theMessageNamesTheFieldAndNotItsValue() {
    assertThatThrownBy(
            () ->
                RequestLimits.check(
                    CreateVolumeRequest.newBuilder()
                        .putSecrets("userKey", "secret".repeat(1000))
                        .build()))
        .hasMessageContaining("secrets")
        .hasMessageNotContaining("secretsecret");
  }

  @Test
  void pathsAndNodeIdsAndMountFlagsHaveLimitsOfTheirOwn() {
    allowed(NodePublishVolumeRequest.newBuilder().setTargetPath("p".repeat(4096)).build());
    refused(
        "target_path",
        "4097",
        NodePublishVolumeRequest.newBuilder().setTargetPath("p".repeat(4097)).build());
    allowed(NodePublishVolumeRequest.newBuilder().setStagingTargetPath("p".repeat(4096)).build());
    allowed(ControllerPublishVolumeRequest.newBuilder().setNodeId("n".repeat(256)).build());
    refused(
        "node_id",
        "257",
        ControllerPublishVolumeRequest.newBuilder().setNodeId("n".repeat(257)).build());
    allowed(NodeGetInfoResponse.newBuilder().setNodeId("n".repeat(256)).build());
    allowed(flags(4096));
    refused("mount_flags", "4097", flags(4097));
  }

  /** The in-tree plugin's have two for each byte of the pool; an administrator may choose any. */
  @Test
  void idsOfVolumesMayBeThoseOfOtherDrivers() {
    String id = "v".repeat(1024);
    allowed(NodeStageVolumeRequest.newBuilder().setVolumeId(id).build());
    refused("volume_id", "1025", NodeStageVolumeRequest.newBuilder().setVolumeId(id + "v").build());
    allowed(ControllerReclaimSpaceRequest.newBuilder().setVolumeId(id).build());
    allowed(source(id));
    refused("volume_id", "1025", source(id + "v"));
    allowed(CreateSnapshotRequest.newBuilder().setSourceVolumeId(id).build());
    refused(
        "source_volume_id",
        "1025",
        CreateSnapshotRequest.newBuilder().setSourceVolumeId(id + "v").build());
    refused("name", "129", CreateSnapshotRequest.newBuilder().setName("v".repeat(129)).build());
    refused(
        "snapshot_id",
        "129",
        DeleteSnapshotRequest.newBuilder().setSnapshotId("v".repeat(129)).build());
  }

  private static CreateVolumeRequest source(String volumeId) {
    return CreateVolumeRequest.newBuilder()
        .setVolumeContentSource(
            VolumeContentSource.newBuilder()
                .setVolume(VolumeContentSource.VolumeSource.newBuilder().setVolumeId(volumeId)))
        .build();
  }

  private static NodePublishVolumeRequest flags(int bytes) {
    return NodePublishVolumeRequest.newBuilder()
        .setVolumeCapability(
            VolumeCapability.newBuilder()
                .setMount(
                    VolumeCapability.MountVolume.newBuilder()
                        .addMountFlags("f".repeat(1000))
                        .addMountFlags("f".repeat(bytes - 1000))))
        .build();
  }

  private static void allowed(Message message) {
    assertThatCode(() -> RequestLimits.check(message)).doesNotThrowAnyException();
  }

  private static void refused(String field, String bytes, Message message) {
    assertThatThrownBy(() -> RequestLimits.check(message))
        .isInstanceOfSatisfying(
            VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.INVALID_ARGUMENT))
        .hasMessageContaining(field)
        .hasMessageContaining(bytes);
  }
}
