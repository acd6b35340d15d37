package io.cephcsi.driver.rbd.volume;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.driver.app.DriverConfig;
import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.ConnectionPool;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.kms.KmsConfig;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.rbd.group.StaleGroupMembers;
import io.cephcsi.driver.rbd.image.ImageLabels;
import io.cephcsi.driver.rbd.parameters.CloneLimits;
import io.cephcsi.driver.rbd.parameters.RbdParameters;
import io.cephcsi.driver.rbd.parameters.RbdSettings;
import io.cephcsi.driver.rbd.session.RbdSessions;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A volume whose limits of I/O cannot be set. */
class LimitsOfNewVolumesIT {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final String LIMIT = "conf_rbd_qos_iops_limit";
  private static final String LARGEST_WRITE = "osd_max_write_size";
  private static final int MIB = 1 << 20;

  private final String name = "limits-" + UUID.randomUUID();

  private VolumeRequest request(String limit) {
    RbdParameters parameters =
        RbdParameters.parse(
            Map.of("clusterID", TestDriver.CLUSTER_ID, "pool", CLUSTER.otherPool()));
    return new VolumeRequest(
        name,
        parameters,
        new MutableParameters(Map.of(LIMIT, limit)),
        new CapacityRange(16 * MIB, 0),
        Optional.empty());
  }

  /** The images of the pool, and the journal entries. */
  private static List<String> kept() {
    return new Omaps(CLUSTER, CLUSTER.otherPool(), "")
        .objects().stream()
            .filter(object -> object.startsWith("rbd_id.") || object.startsWith("csi.volume."))
            .toList();
  }

  /** Nobody would delete it after a final error, when its claim is deleted. */
  @Test
  void isNotLeft(@TempDir Path folder) throws IOException {
    ClusterDirectory clusters = new ClusterDirectory(TestDriver.clustersFile(CLUSTER, folder));
    Credentials user = Storage.RBD.credentials(TestDriver.secrets(CLUSTER, DriverConfig.Type.RBD));
    try (ConnectionPool connections = new ConnectionPool(PATIENCE, PATIENCE);
        ClusterExecutors executors = new ClusterExecutors(clusters, 1, 1)) {
      RbdSettings settings =
          new RbdSettings(
              name,
              CloneLimits.DEFAULT,
              ImageLabels.NONE,
              KmsConfig.ofProcess(KmsConfig.DEFAULT_FILE));
      RbdSessions sessions =
          new RbdSessions(
              clusters, connections, executors, new OperationRegistry(PATIENCE), settings);
      RbdVolumes volumes = new RbdVolumes(sessions, new StaleGroupMembers());
      List<String> before = kept();
      CLUSTER.ceph("config", "set", "osd", LARGEST_WRITE, "4"); // MiB
      try {
        await("the OSD has it later than the monitors")
            .atMost(PATIENCE)
            .until(
                () ->
                    CLUSTER
                        .ceph("tell", "osd.0", "config", "get", LARGEST_WRITE)
                        .contains("\"4\""));
        assertThatThrownBy(() -> volumes.create(request("7".repeat(5 * MIB)), user))
            .isInstanceOf(CephException.class);
      } finally {
        CLUSTER.ceph("config", "rm", "osd", LARGEST_WRITE);
      }
      assertThat(kept()).isEqualTo(before);
      VolumeId made = volumes.create(request("77"), user).id();
      String image = CLUSTER.otherPool() + "/csi-vol-" + made.uuid();
      assertThat(CLUSTER.rbd("image-meta", "get", image, LIMIT)).isEqualToIgnoringNewLines("77");
      volumes.delete(made, user);
    }
  }
}
