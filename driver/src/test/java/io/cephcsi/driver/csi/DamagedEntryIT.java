package io.cephcsi.driver.csi;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.ControllerPublishVolumeRequest;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.GetCapacityRequest;
import io.cephcsi.proto.csi.v1.GetCapacityResponse;
import io.cephcsi.proto.csi.v1.ListVolumesRequest;
import io.cephcsi.proto.csi.v1.ListVolumesResponse;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** A clusters file of which one entry cannot be used. */
class DamagedEntryIT {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final long MIB = 1L << 20;
  private static final String PROBLEM = "it has no monitors";

  @Test
  void onlyItsClusterIsUnavailableAndNothingOfItIsTakenForGone() throws IOException {
    String name = "damaged-" + UUID.randomUUID();
    TestDriver first =
        TestDriver.rbd(CLUSTER).instance(name).withCredentials().controllerOnly(false).start();
    String id = first.create(name, 16 * MIB).getVolumeId();
    VolumeId here = VolumeId.parse(id).orElseThrow();
    String there =
        new VolumeId(TestDriver.IN_NAMESPACE, here.location(), UUID.randomUUID()).toString();
    Path file = first.folder().resolve("config.json");
    String good = Files.readString(file);
    String entry = "\"" + TestDriver.IN_NAMESPACE + "\", \"monitors\": [";
    assertThat(good).contains(entry);
    int monitors = good.indexOf(entry) + entry.length();
    Files.writeString(
        file, good.substring(0, monitors) + good.substring(good.indexOf("\"]", monitors) + 1));
    try (TestDriver driver = first.restarted()) {
      assertThat(driver.expand(id, 32 * MIB)).isEqualTo(32 * MIB);
      CreateVolumeRequest.Builder create =
          driver.createRequest(name, MIB).putParameters("clusterID", TestDriver.IN_NAMESPACE);
      assertStatus(Code.UNAVAILABLE, PROBLEM, () -> driver.create(create));
      assertStatus(Code.UNAVAILABLE, PROBLEM, () -> driver.expand(there, 32 * MIB));
      assertStatus(Code.UNAVAILABLE, PROBLEM, () -> driver.delete(there));
      assertStatus(Code.UNAVAILABLE, PROBLEM, () -> list(driver)); // or it would lack some
      assertStatus(Code.UNAVAILABLE, PROBLEM, () -> capacity(driver));
      assertStatus(Code.UNAVAILABLE, PROBLEM, () -> publish(driver, id)); // its nodes may be there
      Files.writeString(file, good);
      assertThat(capacity(driver).getAvailableCapacity()).isPositive();
      assertThat(list(driver).getEntriesList())
          .extracting(listed -> listed.getVolume().getVolumeId())
          .containsExactly(id);
      driver.delete(there);
      driver.delete(id);
    }
  }

  private static GetCapacityResponse capacity(TestDriver driver) {
    return driver.controller().getCapacity(GetCapacityRequest.getDefaultInstance());
  }

  private static void publish(TestDriver driver, String id) {
    driver
        .controller()
        .controllerPublishVolume(
            ControllerPublishVolumeRequest.newBuilder()
                .setVolumeId(id)
                .setNodeId("another-node")
                .setVolumeCapability(TestDriver.singleWriter())
                .build());
  }

  private static ListVolumesResponse list(TestDriver driver) {
    return driver.controller().listVolumes(ListVolumesRequest.getDefaultInstance());
  }
}
