package io.cephcsi.driver.node.rbd;

import static io.cephcsi.driver.testing.NodeClient.mounted;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.node.attach.AttachedDevice;
import io.cephcsi.driver.node.attach.NbdAttacher;
import io.cephcsi.driver.node.machine.Argument;
import io.cephcsi.driver.node.machine.Command;
import io.cephcsi.driver.node.machine.Mounts;
import io.cephcsi.driver.node.machine.ServerCgroup;
import io.cephcsi.driver.testing.NodeClient;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import io.cephcsi.testing.TestCluster;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** rbd-nbd is killed under a staged volume. Run where the kernel has nbd: by NodeInMachineIT. */
public class KilledNbd {
  private static final long SIZE = 64L << 20;

  private static List<ProcessHandle> servers() {
    return ProcessHandle.allProcesses()
        .filter(process -> process.info().command().orElse("").endsWith("/rbd-nbd"))
        .toList();
  }

  private final NbdAttacher nbd = new NbdAttacher(Path.of("unused"), ServerCgroup.none());

  @Test
  void aStagedVolumeIsServedAgainAndUnwinds() throws Exception {
    VolumeCapability use = mounted("ext4", Mode.SINGLE_NODE_WRITER);
    try (TestDriver driver =
            TestDriver.rbd(TestCluster.shared())
                .instance("killed-" + UUID.randomUUID())
                .withCredentials()
                .start();
        NodeClient node = driver.node()) {
      Volume volume =
          driver.create("pvc-" + UUID.randomUUID(), SIZE).toBuilder()
              .putVolumeContext("cephLogStrategy", "compress")
              .build();
      node.stage(volume, use);
      Path log = Path.of("/var/log/ceph/rbd-nbd-" + volume.getVolumeId() + ".log.gz");
      Path place = node.staging(volume).resolve(volume.getVolumeId());
      Files.writeString(place.resolve("file"), "written");
      Command.of("sync", "--file-system").with(Argument.path(place)).run();
      Path target = node.publish(volume, use, "pod");
      Files.writeString(target.resolve("late"), "only in memory yet");
      List<ProcessHandle> killed = servers();
      assertThat(killed).hasSize(1);
      killed.get(0).destroyForcibly();
      killed.get(0).onExit().get(10, TimeUnit.SECONDS);
      assertThat(nbd.list()).hasSize(1).noneMatch(AttachedDevice::alive);

      node.stage(volume, use);
      assertThat(place.resolve("file")).hasContent("written");
      Command.of("sync", "--file-system").with(Argument.path(target)).run();
      assertThat(nbd.list()).hasSize(1).allMatch(AttachedDevice::alive);
      Mounts.unmountAll(place); // a call that was killed left the target only
      node.stage(volume, use);
      node.unpublish(volume, "pod");
      node.unstage(volume);
      assertThat(log).isNotEmptyFile();
      node.stage(volume, use);
      assertThat(place.resolve("late")).hasContent("only in memory yet");
      node.unstage(volume);
      assertThat(nbd.list()).isEmpty();
      assertThat(servers()).isEmpty();
      assertThat(node.leftovers()).isEmpty();
      driver.delete(volume.getVolumeId());
    }
  }
}
