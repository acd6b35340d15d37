package io.cephcsi.driver.node.rbd;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.node.CrushLocation;
import io.cephcsi.driver.node.attach.AttachRequest;
import io.cephcsi.driver.node.attach.ImageSpec;
import io.cephcsi.driver.node.attach.KrbdAttacher;
import io.cephcsi.driver.node.machine.Argument;
import io.cephcsi.driver.node.machine.Command;
import io.cephcsi.driver.node.machine.CommandException;
import io.cephcsi.driver.node.machine.Mounts;
import io.cephcsi.driver.testing.NodeClient;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceRequest;
import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceResponse;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/**
 * The kernel's client, which asks nobody, maps and mounts an image at any moment while it is
 * trimmed. Run where the kernel has rbd: by NodeInMachineIT.
 */
public class KrbdAgainstTrims {
  private static final int MIB = 1 << 20;
  private static final int ROUNDS = Integer.getInteger("ceph.csi.rounds", 5);
  private static final int FILE = 8 * MIB;
  private static final int LONGEST_MILLIS = 4_000;
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final VolumeCapability USE = NodeClient.mounted("ext4", Mode.SINGLE_NODE_WRITER);

  private final Random random = new Random(Long.getLong("ceph.csi.seed", 1));
  private final KrbdAttacher krbd = new KrbdAttacher(new CrushLocation(Map.of()));

  /** What the client has written: it reads that again, and writes something new. */
  private final byte[] kept = new byte[FILE];

  private byte[] last = new byte[0];

  @Test
  void whatItWroteIsIntactAndItsFileSystemClean() throws Exception {
    try (TestDriver driver =
            TestDriver.rbd(CLUSTER)
                .instance("against-" + UUID.randomUUID())
                .withCredentials()
                .start();
        NodeClient node = driver.node()) {
      Volume volume = driver.create("pvc-" + UUID.randomUUID(), 128L * MIB);
      random.nextBytes(kept);
      node.stage(volume, USE);
      Path place = node.staging(volume).resolve(volume.getVolumeId());
      Files.write(place.resolve("kept"), kept);
      Files.write(place.resolve("litter"), kept);
      Command.of("sync", "--file-system").with(Argument.path(place)).run();
      Files.delete(place.resolve("litter"));
      node.unstage(volume);
      AttachRequest request = request(driver, volume);
      Path mountPoint = Files.createDirectory(node.folder().resolve("other"));
      long freed = 0;
      for (int round = 1; round <= ROUNDS; round++) {
        CompletableFuture<ControllerReclaimSpaceResponse> trim =
            CompletableFuture.supplyAsync(() -> trim(driver, volume));
        if (round < ROUNDS) {
          TimeUnit.MILLISECONDS.sleep(random.nextInt(LONGEST_MILLIS)); // any moment
        } else {
          trim.get(3, TimeUnit.MINUTES); // one at least is not disturbed
        }
        visit(request, mountPoint);
        ControllerReclaimSpaceResponse answer = trim.get(3, TimeUnit.MINUTES);
        long bytes = answer.getPreUsage().getUsageBytes() - answer.getPostUsage().getUsageBytes();
        System.out.println("round " + round + ": freed " + bytes);
        freed += Math.max(0, bytes);
      }
      assertThat(freed).isPositive();
      assertThat(krbd.list()).isEmpty();
      driver.delete(volume.getVolumeId());
    }
  }

  private static AttachRequest request(TestDriver driver, Volume volume) {
    return new AttachRequest(
        new ClusterConfig(TestDriver.CLUSTER_ID, List.of(CLUSTER.monitors()), "", "csi", "csi"),
        CLUSTER.ceph("fsid").strip(),
        new Credentials(CLUSTER.rbdUser(), driver.secrets().get("userKey")),
        new ImageSpec(CLUSTER.pool(), "", TestDriver.image(volume)),
        false,
        "",
        false,
        Optional.empty());
  }

  private static ControllerReclaimSpaceResponse trim(TestDriver driver, Volume volume) {
    return driver
        .reclaim()
        .controllerReclaimSpace(
            ControllerReclaimSpaceRequest.newBuilder()
                .setVolumeId(volume.getVolumeId())
                .putParameters("reclaim.method", "trim")
                .putParameters("reclaim.maxBytesPerSecond", Integer.toString(4 * MIB))
                .putAllSecrets(driver.secrets())
                .build());
  }

  /** Maps, mounts, reads, writes and goes. */
  private void visit(AttachRequest request, Path mountPoint) throws IOException {
    // Until the trim has seen it and given way, the kernel does not get the image's lock, and
    // mapping fails, or writing, and so does the mount.
    Path device =
        Awaitility.await()
            .atMost(Duration.ofMinutes(1))
            .ignoreExceptionsInstanceOf(CommandException.class)
            .until(() -> krbd.attach(request).device(), found -> true);
    try {
      Awaitility.await()
          .atMost(Duration.ofMinutes(1))
          .ignoreExceptionsInstanceOf(CommandException.class)
          .untilAsserted(
              () -> Mounts.mount("ext4", device.toString(), mountPoint, List.of("noatime")));
      assertContent(mountPoint.resolve("kept"), kept);
      Path file = mountPoint.resolve("last");
      if (last.length > 0) {
        assertContent(file, last);
        Files.delete(file);
      }
      last = new byte[FILE];
      random.nextBytes(last);
      Files.write(file, last);
      Mounts.unmountAll(mountPoint);
      Command.of("e2fsck", "-f", "-n").with(Argument.path(device)).run();
    } finally {
      Mounts.unmountAll(mountPoint);
      krbd.detach(request.image(), "");
    }
  }

  private static void assertContent(Path file, byte[] expected) throws IOException {
    assertThat(Arrays.equals(Files.readAllBytes(file), expected)).as("%s is intact", file).isTrue();
  }
}
