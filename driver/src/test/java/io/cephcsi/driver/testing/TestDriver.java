package io.cephcsi.driver.testing;

import io.cephcsi.driver.app.DriverConfig;
import io.cephcsi.driver.app.DriverProcess;
import io.cephcsi.driver.grpc.SocketChannels;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.addons.fence.FenceControllerGrpc;
import io.cephcsi.proto.addons.reclaimspace.ReclaimSpaceControllerGrpc;
import io.cephcsi.proto.csi.v1.CapacityRange;
import io.cephcsi.proto.csi.v1.ControllerExpandVolumeRequest;
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
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * A driver that serves a test cluster on a socket, and a client of it. As a field of a test class,
 * it ends with the class:
 *
 * <pre>{@code
 * @RegisterExtension
 * static final TestDriver DRIVER = TestDriver.rbd(TestCluster.shared()).start();
 * }</pre>
 *
 * <p>A superclass of several test classes starts one for each of them in {@code @BeforeAll}.
 */
public final class TestDriver implements AutoCloseable, AfterAllCallback {
  /** The passphrase in the secrets of a driver whose volumes are encrypted. */
  public static final String PASSPHRASE = "a passphrase of tests, which nobody may see";

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
  private String kmsId = "";
  private String encryptionType = "";

  TestDriver(
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

  /** Settings of a driver of RBD; {@link TestDriverBuilder#start} starts it. */
  public static TestDriverBuilder rbd(TestCluster cluster) {
    return new TestDriverBuilder(DriverConfig.Type.RBD, cluster);
  }

  /** Settings of a driver of CephFS; {@link TestDriverBuilder#start} starts it. */
  public static TestDriverBuilder cephFs(TestCluster cluster) {
    return new TestDriverBuilder(DriverConfig.Type.CEPHFS, cluster);
  }

  /** A client of the driver's node; close it before the driver. */
  public NodeClient node() {
    return new NodeClient(channel, secrets(), folder);
  }

  /** A driver in the place of this one, which is closed: with its folder and settings. */
  public TestDriver restarted() {
    close();
    try {
      return new TestDriver(type, cluster, instanceId, folder, config, folder.resolve("csi.sock"))
          .encryptedBy(kmsId, encryptionType);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Makes the namespace of {@link #IN_NAMESPACE} unless another test did. */
  public static void makeNamespace(TestCluster cluster) {
    if (!cluster.rbd("namespace", "ls", cluster.pool()).contains("ns1")) {
      cluster.rbd("namespace", "create", cluster.pool() + "/ns1");
    }
  }

  /** Writes credentials of a user for two of the clusters of {@link #clustersFile}. */
  public static Path credentialsFolder(TestCluster cluster, Path folder, String user)
      throws IOException {
    return credentialsFolder(cluster, folder, user, List.of(CLUSTER_ID, IN_NAMESPACE));
  }

  /** The same for some clusterIDs. */
  public static Path credentialsFolder(
      TestCluster cluster, Path folder, String user, List<String> clusterIds) throws IOException {
    Path credentials = folder.resolve("credentials");
    for (String id : clusterIds) {
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

  /** Which storage it serves. */
  public DriverConfig.Type type() {
    return type;
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

  /** The CSI-Addons network fence. */
  public FenceControllerGrpc.FenceControllerBlockingStub fences() {
    return FenceControllerGrpc.newBlockingStub(channel);
  }

  /** The CSI-Addons identity service. */
  public io.cephcsi.proto.addons.identity.IdentityGrpc.IdentityBlockingStub addonsIdentity() {
    return io.cephcsi.proto.addons.identity.IdentityGrpc.newBlockingStub(channel);
  }

  /** The CSI-Addons volume groups. */
  public io.cephcsi.proto.addons.volumegroup.ControllerGrpc.ControllerBlockingStub groups() {
    return io.cephcsi.proto.addons.volumegroup.ControllerGrpc.newBlockingStub(channel);
  }

  /** The channel, for other stubs. */
  public ManagedChannel channel() {
    return channel;
  }

  /** Secrets of the provisioning user, and the passphrase of what is encrypted. */
  public Map<String, String> secrets() {
    Map<String, String> all = new HashMap<>(secrets(cluster, type));
    if (!kmsId.isEmpty()) {
      all.put("encryptionPassphrase", PASSPHRASE);
    }
    return all;
  }

  /** Secrets of the user that provisions a kind of volumes. */
  public static Map<String, String> secrets(TestCluster cluster, DriverConfig.Type type) {
    String user = user(cluster, type);
    return Map.of("userID", user, "userKey", cluster.key(user));
  }

  static String user(TestCluster cluster, DriverConfig.Type type) {
    return switch (type) {
      case RBD -> cluster.rbdUser();
      case CEPHFS -> cluster.cephFsUser();
    };
  }

  /** The parameters of a StorageClass for the pool or file system of tests. */
  public Map<String, String> parameters() {
    Map<String, String> all =
        new HashMap<>(
            switch (type) {
              case RBD -> Map.of("clusterID", CLUSTER_ID, "pool", cluster.pool());
              case CEPHFS -> Map.of("clusterID", CLUSTER_ID, "fsName", cluster.fileSystem());
            });
    if (!kmsId.isEmpty()) {
      all.put("encrypted", "true");
      all.put("encryptionKMSID", kmsId);
      if (!encryptionType.isEmpty()) {
        all.put("encryptionType", encryptionType);
      }
    }
    return all;
  }

  /** Has volumes encrypted by a KMS, or none if that is empty. */
  TestDriver encryptedBy(String id, String type) {
    kmsId = id;
    encryptionType = type;
    return this;
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
    return create(createRequest(name, bytes));
  }

  /** Makes the volume of a request. */
  public Volume create(CreateVolumeRequest.Builder request) {
    return controller().createVolume(request.build()).getVolume();
  }

  /** Expands a volume; its size then. */
  public long expand(String volumeId, long bytes) {
    return controller()
        .controllerExpandVolume(
            ControllerExpandVolumeRequest.newBuilder()
                .setVolumeId(volumeId)
                .setCapacityRange(CapacityRange.newBuilder().setRequiredBytes(bytes))
                .putAllSecrets(secrets())
                .build())
        .getCapacityBytes();
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
    return snapshot(snapshotRequest(name, volumeId));
  }

  /** Takes the snapshot of a request. */
  public Snapshot snapshot(CreateSnapshotRequest.Builder request) {
    return controller().createSnapshot(request.build()).getSnapshot();
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
    return create(restoreRequest(name, bytes, snapshotId));
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
    return create(cloneRequest(name, bytes, volumeId));
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
    return create(showRequest(name, snapshotId));
  }

  /** The image of a volume. */
  public static String image(Volume volume) {
    return volume.getVolumeContextMap().get("imageName");
  }

  /** The image of a snapshot that is a clone. */
  public static String image(Snapshot snapshot) {
    return "csi-snap-" + VolumeId.parse(snapshot.getSnapshotId()).orElseThrow().uuid();
  }

  /** The folder with config.json and the socket. */
  public Path folder() {
    return folder;
  }

  @Override
  public void afterAll(ExtensionContext context) {
    if (context.getRequiredTestClass().getEnclosingClass() == null) { // not after a nested class
      close();
    }
  }

  @Override
  public void close() {
    channel.shutdownNow();
    channels.close();
    process.close();
  }
}
