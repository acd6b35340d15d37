package io.cephcsi.driver.testing;

import io.cephcsi.driver.app.DriverConfig;
import io.cephcsi.driver.app.DriverProcess;
import io.cephcsi.driver.app.NodeSettings;
import io.cephcsi.driver.grpc.SocketChannels;
import io.cephcsi.driver.metrics.MetricsEndpoint;
import io.cephcsi.driver.rbd.image.ImageLabels;
import io.cephcsi.driver.rbd.parameters.CloneLimits;
import io.cephcsi.proto.addons.reclaimspace.ReclaimSpaceControllerGrpc;
import io.cephcsi.proto.csi.v1.CapacityRange;
import io.cephcsi.proto.csi.v1.ControllerGrpc;
import io.cephcsi.proto.csi.v1.CreateSnapshotRequest;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.DeleteSnapshotRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeRequest;
import io.cephcsi.proto.csi.v1.IdentityGrpc;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeContentSource;
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

  /** The id of the node that a driver is on, unless it is a controller only. */
  public static final String NODE_ID = "node-1";

  private final DriverConfig.Type type;
  private final TestCluster cluster;
  private final String instanceId;
  private final Path folder;
  private final DriverConfig config;
  private final DriverProcess process;
  private final SocketChannels channels = new SocketChannels();
  private final ManagedChannel channel;

  private TestDriver(
      DriverConfig.Type type,
      TestCluster cluster,
      String instanceId,
      Path folder,
      DriverConfig config,
      Path socket)
      throws IOException {
    this.type = type;
    this.cluster = cluster;
    this.instanceId = instanceId;
    this.folder = folder;
    this.config = config;
    this.process = DriverProcess.start(config);
    this.channel = channels.open(socket);
  }

  /** Starts a driver for a cluster. */
  public static TestDriver start(TestCluster cluster) {
    return start(cluster, "default", Duration.ofSeconds(30));
  }

  /** Starts a driver with its own instance id and timeout for the cluster's operations. */
  public static TestDriver start(TestCluster cluster, String instanceId, Duration timeout) {
    return start(cluster, instanceId, timeout, CloneLimits.DEFAULT, ImageLabels.NONE, false);
  }

  /** Starts a driver of an instance of its own, with credentials of its own. */
  public static TestDriver startWithCredentials(TestCluster cluster, String instanceId) {
    return start(
        cluster, instanceId, Duration.ofSeconds(30), CloneLimits.DEFAULT, ImageLabels.NONE, true);
  }

  /** Starts a controller with credentials of its own, on a machine that is no node. */
  public static TestDriver startController(TestCluster cluster, String instanceId, boolean attach) {
    try {
      Path folder = Files.createTempDirectory("driver");
      Path socket = folder.resolve("csi.sock");
      DriverConfig.Driver controller =
          new DriverConfig.Driver(
              DriverConfig.Type.RBD,
              "rbd.csi.ceph.com",
              socket,
              Optional.empty(),
              "",
              instanceId,
              true,
              false,
              Optional.of(credentialsFolder(cluster, folder, cluster.rbdUser())),
              attach);
      Duration timeout = Duration.ofSeconds(15);
      DriverConfig config =
          new DriverConfig(
              clustersFile(cluster, folder),
              MetricsEndpoint.NONE,
              timeout,
              timeout,
              timeout,
              2,
              List.of(controller));
      return new TestDriver(DriverConfig.Type.RBD, cluster, instanceId, folder, config, socket);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Starts a driver of CephFS, of an instance of its own, with credentials of its own. */
  public static TestDriver startCephFs(TestCluster cluster, String instanceId) {
    return startCephFs(cluster, instanceId, true);
  }

  /** Starts a driver of CephFS. */
  public static TestDriver startCephFs(
      TestCluster cluster, String instanceId, boolean credentials) {
    return startCephFs(cluster, instanceId, Duration.ofSeconds(30), credentials);
  }

  /** Starts a driver of CephFS with its own timeout for the cluster's operations. */
  public static TestDriver startCephFs(
      TestCluster cluster, String instanceId, Duration timeout, boolean credentials) {
    try {
      Path folder = Files.createTempDirectory("driver");
      Path socket = folder.resolve("csi.sock");
      DriverConfig.Driver driver =
          new DriverConfig.Driver(
              DriverConfig.Type.CEPHFS,
              "cephfs.csi.ceph.com",
              socket,
              Optional.empty(),
              "node-1",
              instanceId,
              true,
              true,
              credentials
                  ? Optional.of(credentialsFolder(cluster, folder, cluster.cephFsUser()))
                  : Optional.empty(),
              false,
              nodeSettings(folder));
      DriverConfig config =
          new DriverConfig(
              clustersFile(cluster, folder),
              MetricsEndpoint.NONE,
              timeout,
              timeout,
              timeout,
              2,
              List.of(driver));
      return new TestDriver(DriverConfig.Type.CEPHFS, cluster, instanceId, folder, config, socket);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** As {@link #startWithCredentials}, one that does not delete volumes with their group. */
  public static TestDriver startKeepingVolumes(TestCluster cluster, String instanceId) {
    return start(
        cluster,
        instanceId,
        Duration.ofSeconds(30),
        CloneLimits.DEFAULT,
        ImageLabels.NONE,
        true,
        true);
  }

  private static TestDriver start(
      TestCluster cluster,
      String instanceId,
      Duration timeout,
      CloneLimits limits,
      ImageLabels labels,
      boolean credentials) {
    return start(cluster, instanceId, timeout, limits, labels, credentials, false);
  }

  private static TestDriver start(
      TestCluster cluster,
      String instanceId,
      Duration timeout,
      CloneLimits limits,
      ImageLabels labels,
      boolean credentials,
      boolean groupsKeepVolumes) {
    try {
      Path folder = Files.createTempDirectory("driver");
      Path socket = folder.resolve("csi.sock");
      DriverConfig config =
          new DriverConfig(
              clustersFile(cluster, folder),
              MetricsEndpoint.NONE,
              timeout.compareTo(Duration.ofSeconds(15)) < 0 ? timeout : Duration.ofSeconds(15),
              timeout,
              Duration.ofSeconds(20),
              2,
              4,
              List.of(
                  new DriverConfig.Driver(
                      DriverConfig.Type.RBD,
                      "rbd.csi.ceph.com",
                      socket,
                      Optional.empty(),
                      NODE_ID,
                      instanceId,
                      true,
                      true,
                      credentials
                          ? Optional.of(credentialsFolder(cluster, folder, cluster.rbdUser()))
                          : Optional.empty(),
                      false,
                      nodeSettings(folder))),
              limits,
              labels,
              groupsKeepVolumes);
      return new TestDriver(DriverConfig.Type.RBD, cluster, instanceId, folder, config, socket);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static NodeSettings nodeSettings(Path folder) {
    return new NodeSettings(
        Optional.of(folder.resolve("node")),
        7,
        Map.of("topology.example.com/zone", "z1"),
        List.of(),
        0);
  }

  /** A client of the driver's node; close it before the driver. */
  public NodeClient node() {
    return new NodeClient(channel, secrets(), folder);
  }

  /** A driver in the place of this one, which is closed: with its folder and settings. */
  public TestDriver restarted() {
    close();
    try {
      return new TestDriver(type, cluster, instanceId, folder, config, folder.resolve("csi.sock"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Starts a driver with its own limits on clones and labels on images. */
  public static TestDriver start(TestCluster cluster, CloneLimits limits, ImageLabels labels) {
    return start(cluster, "default", Duration.ofSeconds(30), limits, labels, false);
  }

  /** Makes the namespace of {@link #IN_NAMESPACE} unless another test did. */
  public static void makeNamespace(TestCluster cluster) {
    if (!cluster.rbd("namespace", "ls", cluster.pool()).contains("ns1")) {
      cluster.rbd("namespace", "create", cluster.pool() + "/ns1");
    }
  }

  /** Writes credentials for two of the clusters of {@link #clustersFile}. */
  public static Path credentialsFolder(TestCluster cluster, Path folder) throws IOException {
    return credentialsFolder(cluster, folder, cluster.rbdUser());
  }

  /** As {@link #credentialsFolder(TestCluster, Path)}, of a user. */
  public static Path credentialsFolder(TestCluster cluster, Path folder, String user)
      throws IOException {
    Path credentials = folder.resolve("credentials");
    for (String id : List.of(CLUSTER_ID, IN_NAMESPACE)) {
      Path place = Files.createDirectories(credentials.resolve(id));
      Files.writeString(place.resolve("userID"), user);
      Files.writeString(place.resolve("userKey"), cluster.key(user) + "\n");
    }
    return credentials;
  }

  /** Writes a config.json that names the cluster. */
  public static Path clustersFile(TestCluster cluster, Path folder) throws IOException {
    return Files.writeString(
        folder.resolve("config.json"),
        """
        [{"clusterID": "%s", "monitors": ["%s"]},
         {"clusterID": "in-namespace", "monitors": ["%s"], "rbd": {"radosNamespace": "ns1"},
          "cephFS": {"radosNamespace": "csi-ns1"}},
         {"clusterID": "nobody-there", "monitors": ["127.0.0.1:1"]}]
        """
            .formatted(CLUSTER_ID, cluster.monitors(), cluster.monitors()));
  }

  /** The id of the driver's instance. */
  public String instanceId() {
    return instanceId;
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

  /** The CSI-Addons volume groups. */
  public io.cephcsi.proto.addons.volumegroup.ControllerGrpc.ControllerBlockingStub groups() {
    return io.cephcsi.proto.addons.volumegroup.ControllerGrpc.newBlockingStub(channel);
  }

  /** The channel, for other stubs. */
  public ManagedChannel channel() {
    return channel;
  }

  /** Secrets of the provisioning user. */
  public Map<String, String> secrets() {
    return secrets(cluster, type);
  }

  /** Secrets of the user that provisions a kind of volumes. */
  public static Map<String, String> secrets(TestCluster cluster, DriverConfig.Type type) {
    String user = user(cluster, type);
    return Map.of("userID", user, "userKey", cluster.key(user));
  }

  private static String user(TestCluster cluster, DriverConfig.Type type) {
    return switch (type) {
      case RBD -> cluster.rbdUser();
      case CEPHFS -> cluster.cephFsUser();
    };
  }

  /** The parameters of a StorageClass for the pool or file system of tests. */
  public Map<String, String> parameters() {
    return switch (type) {
      case RBD -> Map.of("clusterID", CLUSTER_ID, "pool", cluster.pool());
      case CEPHFS -> Map.of("clusterID", CLUSTER_ID, "fsName", cluster.fileSystem());
    };
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

  /** A request for a snapshot. */
  public CreateSnapshotRequest.Builder snapshotRequest(String name, String volumeId) {
    return CreateSnapshotRequest.newBuilder()
        .setName(name)
        .setSourceVolumeId(volumeId)
        .putParameters("clusterID", CLUSTER_ID)
        .putAllSecrets(secrets());
  }

  /** Takes a snapshot. */
  public Snapshot snapshot(String name, String volumeId) {
    return controller().createSnapshot(snapshotRequest(name, volumeId).build()).getSnapshot();
  }

  /** Deletes a snapshot. */
  @SuppressWarnings("CheckReturnValue")
  public void deleteSnapshot(String snapshotId) {
    controller()
        .deleteSnapshot(
            DeleteSnapshotRequest.newBuilder()
                .setSnapshotId(snapshotId)
                .putAllSecrets(secrets())
                .build());
  }

  /** A request for a volume with the content of a snapshot. */
  public CreateVolumeRequest.Builder restoreRequest(String name, long bytes, String snapshotId) {
    return createRequest(name, bytes)
        .setVolumeContentSource(
            VolumeContentSource.newBuilder()
                .setSnapshot(
                    VolumeContentSource.SnapshotSource.newBuilder().setSnapshotId(snapshotId)));
  }

  /** Makes a volume from a snapshot. */
  public Volume restore(String name, long bytes, String snapshotId) {
    return controller().createVolume(restoreRequest(name, bytes, snapshotId).build()).getVolume();
  }

  /** A request for a volume with the content of another. */
  public CreateVolumeRequest.Builder cloneRequest(String name, long bytes, String volumeId) {
    return createRequest(name, bytes)
        .setVolumeContentSource(
            VolumeContentSource.newBuilder()
                .setVolume(VolumeContentSource.VolumeSource.newBuilder().setVolumeId(volumeId)));
  }

  /** Makes a volume from a volume. */
  public Volume copy(String name, long bytes, String volumeId) {
    return controller().createVolume(cloneRequest(name, bytes, volumeId).build()).getVolume();
  }

  /** A use that several nodes can have at once, which only reads. */
  public static VolumeCapability onlyReader() {
    return singleWriter().toBuilder()
        .setAccessMode(
            VolumeCapability.AccessMode.newBuilder()
                .setMode(VolumeCapability.AccessMode.Mode.MULTI_NODE_READER_ONLY))
        .build();
  }

  /** A request for a volume that shows a snapshot. */
  public CreateVolumeRequest.Builder showRequest(String name, String snapshotId) {
    return restoreRequest(name, 0, snapshotId)
        .clearVolumeCapabilities()
        .addVolumeCapabilities(onlyReader());
  }

  /** Makes a volume that shows a snapshot. */
  public Volume show(String name, String snapshotId) {
    return controller().createVolume(showRequest(name, snapshotId).build()).getVolume();
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
