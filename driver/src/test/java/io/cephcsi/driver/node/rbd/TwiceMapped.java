package io.cephcsi.driver.node.rbd;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.node.CrushLocation;
import io.cephcsi.driver.node.attach.KrbdAttacher;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.testing.NodeClient;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import io.cephcsi.testing.TestCluster;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/**
 * An image that somebody maps by hand beside the device that is mounted. Run where the kernel has
 * rbd: by NodeInMachineIT.
 */
public class TwiceMapped {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final VolumeCapability USE = NodeClient.mounted("ext4", Mode.SINGLE_NODE_WRITER);

  private final KrbdAttacher krbd = new KrbdAttacher(new CrushLocation(Map.of()));

  @Test
  void theMountedDeviceIsLeftAloneAndBothGoWithTheStaging() throws Exception {
    try (TestDriver driver =
            TestDriver.rbd(CLUSTER)
                .instance("twice-" + UUID.randomUUID())
                .withCredentials()
                .start();
        NodeClient node = driver.node()) {
      Volume volume = driver.create("pvc-" + UUID.randomUUID(), 64L << 20);
      node.stage(volume, USE);
      Path place = node.staging(volume).resolve(volume.getVolumeId());
      Files.writeString(place.resolve("file"), "written before");
      CLUSTER.rbd(
          "device", "map", "--options", "noudev", CLUSTER.pool() + "/" + TestDriver.image(volume));
      assertThat(krbd.list()).hasSize(2);
      var mounted = MountTable.read().at(place);
      node.stage(volume, USE);
      assertThat(MountTable.read().at(place)).isPresent().isEqualTo(mounted);
      assertThat(place.resolve("file")).hasContent("written before");
      node.unstage(volume);
      assertThat(krbd.list()).isEmpty();
      driver.delete(volume.getVolumeId());
    }
  }
}
