package io.cephcsi.driver.csiaddons;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.cls.GroupHeader;
import io.cephcsi.driver.testing.TestGroups;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.addons.volumegroup.VolumeGroup;
import io.cephcsi.proto.csi.v1.ControllerGetVolumeRequest;
import io.grpc.Status.Code;
import java.util.UUID;

/**
 * The rules of CSI-Addons' VolumeGroup, each row of its tables of errors included, over the socket.
 */
abstract class VolumeGroupCase extends GroupCase {
  static final String NOBODY = "0001-000c-test-cluster-0000000000000001-" + new UUID(7, 7);

  static String nobody() {
    VolumeId some = VolumeId.parse(newVolume()).orElseThrow();
    return new VolumeId(some.clusterId(), some.location(), new UUID(7, 7)).toString();
  }

  static boolean exists(String volumeId) {
    try {
      return driver
          .controller()
          .controllerGetVolume(
              ControllerGetVolumeRequest.newBuilder().setVolumeId(volumeId).build())
          .hasVolume();
    } catch (io.grpc.StatusRuntimeException e) {
      assertThat(e.getStatus().getCode()).isEqualTo(Code.NOT_FOUND);
      return false;
    }
  }

  static String groupId(VolumeGroup group) {
    try (var cluster = CLUSTER.connect();
        var io = cluster.openPool("rbd")) {
      return GroupHeader.id(io, TestGroups.rbdGroup(group)).orElseThrow();
    }
  }

  static long poolId(String pool) {
    try (var cluster = CLUSTER.connect();
        var io = cluster.openPool(pool)) {
      return io.poolId();
    }
  }
}
