package io.cephcsi.driver.kms;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.driver.app.DriverConfig;
import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.ConnectionPool;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.http.TestKeys;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.rbd.group.StaleGroupMembers;
import io.cephcsi.driver.rbd.image.ImageLabels;
import io.cephcsi.driver.rbd.parameters.CloneLimits;
import io.cephcsi.driver.rbd.parameters.RbdParameters;
import io.cephcsi.driver.rbd.parameters.RbdSettings;
import io.cephcsi.driver.rbd.parameters.SnapshotParameters;
import io.cephcsi.driver.rbd.session.RbdSessions;
import io.cephcsi.driver.rbd.snapshot.RbdSnapshots;
import io.cephcsi.driver.rbd.volume.RbdVolumes;
import io.cephcsi.driver.rbd.volume.VolumeRequest;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.ContentSource;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.TestCluster;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Volumes and copies of them whose passphrases are in Vault. */
@Timeout(120)
class VaultVolumesIT {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final long MIB = 1L << 20;

  @TempDir private Path folder;

  private static VolumeRequest request(String name, Optional<ContentSource> source) {
    Map<String, String> parameters =
        Map.of(
            "clusterID",
            TestDriver.CLUSTER_ID,
            "pool",
            CLUSTER.pool(),
            "encrypted",
            "true",
            "encryptionKMSID",
            "vault-1");
    return new VolumeRequest(
        name, RbdParameters.parse(parameters), new CapacityRange(64 * MIB, 0), source);
  }

  /** The certificate that {@code vaultCAFromSecret} names has lines. */
  @Test
  void aRequestMayBringACertificateInItsSecrets() throws Exception {
    TestKeys keys = TestKeys.make(folder, "RSA", "ip:127.0.0.1");
    assertThat(keys.certificate().lines()).hasSizeGreaterThan(5);
    try (TestDriver driver = TestDriver.rbd(CLUSTER).start()) {
      Volume volume =
          driver.create(
              driver
                  .createRequest("vault-" + UUID.randomUUID(), 64 * MIB)
                  .putSecrets("vaultCa", keys.certificate()));
      assertThat(volume.getVolumeId()).isNotEmpty();
      driver.delete(volume.getVolumeId());
    }
  }

  @Test
  void aSnapshotAndWhatIsRestoredHaveThePassphraseOfTheirVolume() throws Exception {
    TestKeys keys = TestKeys.make(folder, "EC", "ip:127.0.0.1");
    Duration patience = Duration.ofSeconds(10);
    ClusterDirectory clusters =
        new ClusterDirectory(
            TestDriver.clustersFile(CLUSTER, Files.createDirectory(folder.resolve("clusters"))));
    try (TestVault vault = TestVault.start(keys);
        TestKubernetes kubernetes = TestKubernetes.start(keys, folder);
        ConnectionPool connections = new ConnectionPool(patience, patience);
        ClusterExecutors executors = new ClusterExecutors(clusters, 1, 1)) {
      vault.role("kubernetes", "csi-kubernetes", TestKubernetes.TOKEN);
      Path file = folder.resolve("config.json");
      Files.writeString(
          file,
          RestCalls.json(
              Map.of(
                  "vault-1",
                  Map.of(
                      "encryptionKMSType",
                      "vault",
                      "vaultAddress",
                      vault.address(),
                      "vaultCAFromSecret",
                      "vaultCa"))));
      KmsConfig config = new KmsConfig(file, Optional.of(kubernetes.api()), Map.of());
      RbdSettings settings =
          new RbdSettings("default", CloneLimits.DEFAULT, ImageLabels.NONE, config);
      try (RbdSessions sessions =
          new RbdSessions(
              clusters, connections, executors, new OperationRegistry(patience), settings)) {
        RbdVolumes volumes = new RbdVolumes(sessions, new StaleGroupMembers());
        RbdSnapshots snapshots = new RbdSnapshots(sessions);
        Map<String, String> secrets =
            new LinkedHashMap<>(TestDriver.secrets(CLUSTER, DriverConfig.Type.RBD));
        secrets.put("vaultCa", keys.certificate());
        Credentials user = Storage.RBD.credentials(secrets);
        String name = "vault-" + UUID.randomUUID();

        VolumeId volume = volumes.create(request(name, Optional.empty()), user).id();
        String passphrase = vault.newest("secret/" + volume);
        assertThat(passphrase).contains("passphrase");
        VolumeId snapshot =
            snapshots.create(name, volume, SnapshotParameters.parse(Map.of()), user).id();
        assertThat(vault.newest("secret/" + snapshot)).isEqualTo(passphrase);
        ContentSource source = new ContentSource.OfSnapshot(snapshot);
        VolumeId restored = volumes.create(request(name + "-r", Optional.of(source)), user).id();
        assertThat(vault.newest("secret/" + restored)).isEqualTo(passphrase);

        vault.put("secret/" + volume, "{\"data\":{\"passphrase\":\"of a rotation\"}}");
        vault.lagging(true);
        assertThatThrownBy(
                () ->
                    snapshots.create(name + "-l", volume, SnapshotParameters.parse(Map.of()), user))
            .isInstanceOfSatisfying(
                VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.ABORTED));
        vault.lagging(false);
        VolumeId later =
            snapshots.create(name + "-l", volume, SnapshotParameters.parse(Map.of()), user).id();
        assertThat(vault.newest("secret/" + later)).contains("of a rotation");
        snapshots.delete(later, user);

        volumes.delete(restored, user);
        snapshots.delete(snapshot, user);
        volumes.delete(volume, user);
        assertThat(vault.paths()).isEmpty();
      }
    }
  }
}
