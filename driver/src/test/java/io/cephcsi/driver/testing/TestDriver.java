package io.cephcsi.driver.testing;

import io.cephcsi.driver.app.DriverConfig;
import io.cephcsi.driver.app.DriverProcess;
import io.cephcsi.driver.grpc.SocketChannels;
import io.cephcsi.proto.addons.reclaimspace.ReclaimSpaceControllerGrpc;
import io.cephcsi.proto.csi.v1.CapacityRange;
import io.cephcsi.proto.csi.v1.ControllerGrpc;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeRequest;
import io.cephcsi.proto.csi.v1.IdentityGrpc;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.testing.TestCluster;
import io.grpc.ManagedChannel;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A driver that serves a test cluster on a socket, and a client of it. */
public final class TestDriver implements AutoCloseable {
  /** The cluster's id in the configuration. */
  public static final String CLUSTER_ID = "test-cluster";

  /** The id of the same cluster, in the namespace ns1. */
  public static final String IN_NAMESPACE = "in-namespace";

  private final TestCluster cluster;
  private final Path folder;
  private final DriverProcess process;
  private final SocketChannels channels = new SocketChannels();
  private final ManagedChannel channel;

  private TestDriver(TestCluster cluster, Path folder, DriverProcess process, Path socket) {
    this.cluster = cluster;
    this.folder = folder;
    this.process = process;
    this.channel = channels.open(socket);
  }

  /** Starts a driver for a cluster. */
  public static TestDriver start(TestCluster cluster) {
    return start(cluster, "default", Duration.ofSeconds(30));
  }

  /** Starts a driver with its own instance id and timeout for the cluster's operations. */
  public static TestDriver start(TestCluster cluster, String instanceId, Duration timeout) {
    return start(cluster, instanceId, timeout, false);
  }

  /** Starts a driver of an instance of its own, with credentials of its own. */
  public static TestDriver startWithCredentials(TestCluster cluster, String instanceId) {
    return start(cluster, instanceId, Duration.ofSeconds(30), true);
  }

  private static TestDriver start(
      TestCluster cluster, String instanceId, Duration timeout, boolean credentials) {
    try {
      Path folder = Files.createTempDirectory("driver");
      Path socket = folder.resolve("csi.sock");
      DriverProcess process =
          DriverProcess.start(
              new DriverConfig(
                  clustersFile(cluster, folder),
                  0,
                  timeout.compareTo(Duration.ofSeconds(15)) < 0 ? timeout : Duration.ofSeconds(15),
                  timeout,
                  Duration.ofSeconds(20),
                  2,
                  List.of(
                      new DriverConfig.Driver(
                          DriverConfig.Type.RBD,
                          "rbd.csi.ceph.com",
                          socket,
                          Optional.empty(),
                          "node-1",
                          instanceId,
                          true,
                          true,
                          credentials
                              ? Optional.of(credentialsFolder(cluster, folder))
                              : Optional.empty(),
                          false))));
      return new TestDriver(cluster, folder, process, socket);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Writes credentials for two of the clusters of {@link #clustersFile}. */
  private static Path credentialsFolder(TestCluster cluster, Path folder) throws IOException {
    Path credentials = folder.resolve("credentials");
    for (String id : List.of(CLUSTER_ID, IN_NAMESPACE)) {
      Path place = Files.createDirectories(credentials.resolve(id));
      Files.writeString(place.resolve("userID"), cluster.rbdUser());
      Files.writeString(place.resolve("userKey"), cluster.key(cluster.rbdUser()) + "\n");
    }
    return credentials;
  }

  /** Writes a config.json that names the cluster. */
  public static Path clustersFile(TestCluster cluster, Path folder) throws IOException {
    return Files.writeString(
        folder.resolve("config.json"),
        """
        [{"clusterID": "%s", "monitors": ["%s"]},
         {"clusterID": "in-namespace", "monitors": ["%s"], "rbd": {"radosNamespace": "ns1"}},
         {"clusterID": "nobody-there", "monitors": ["127.0.0.1:1"]}]
        """
            .formatted(CLUSTER_ID, cluster.monitors(), cluster.monitors()));
  }

  /** The CSI identity service. */
  public IdentityGrpc.IdentityBlockingStub identity() {
    return IdentityGrpc.newBlockingStub(channel);
  }

  /** The CSI controller. */
  public ControllerGrpc.ControllerBlockingStub controller() {
    return ControllerGrpc.newBlockingStub(channel);
  }

  /** The CSI-Addons reclaim service. */
  public ReclaimSpaceControllerGrpc.ReclaimSpaceControllerBlockingStub reclaim() {
    return ReclaimSpaceControllerGrpc.newBlockingStub(channel);
  }

  /** The channel, for other stubs. */
  public ManagedChannel channel() {
    return channel;
  }

  /** Secrets of the provisioning user. */
  public Map<String, String> secrets() {
    return Map.of("userID", cluster.rbdUser(), "userKey", cluster.key(cluster.rbdUser()));
  }

  /** The parameters of a StorageClass for the pool of tests. */
  public Map<String, String> parameters() {
    return Map.of("clusterID", CLUSTER_ID, "pool", cluster.pool());
  }

  /** A use that every volume can have. */
  public static VolumeCapability singleWriter() {
    return VolumeCapability.newBuilder()
        .setMount(VolumeCapability.MountVolume.newBuilder().setFsType("ext4"))
        .setAccessMode(
            VolumeCapability.AccessMode.newBuilder()
                .setMode(VolumeCapability.AccessMode.Mode.SINGLE_NODE_WRITER))
        .build();
  }

  /** A request for a volume. */
  public CreateVolumeRequest.Builder createRequest(String name, long bytes) {
    return CreateVolumeRequest.newBuilder()
        .setName(name)
        .setCapacityRange(CapacityRange.newBuilder().setRequiredBytes(bytes))
        .addVolumeCapabilities(singleWriter())
        .putAllParameters(parameters())
        .putAllSecrets(secrets());
  }

  /** Makes a volume. */
  public Volume create(String name, long bytes) {
    return controller().createVolume(createRequest(name, bytes).build()).getVolume();
  }

  /** Deletes a volume. */
  @SuppressWarnings("CheckReturnValue")
  public void delete(String volumeId) {
    controller()
        .deleteVolume(
            DeleteVolumeRequest.newBuilder()
                .setVolumeId(volumeId)
                .putAllSecrets(secrets())
                .build());
  }

  /** The image of a volume. */
  public static String image(Volume volume) {
    return volume.getVolumeContextMap().get("imageName");
  }

  /** The folder with config.json and the socket. */
  public Path folder() {
    return folder;
  }

  @Override
  public void close() {
    channel.shutdownNow();
    channels.close();
    process.close();
  }
}
