package io.cephcsi.driver.node.cephfs;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.cephcsi.driver.cluster.ClusterDefaults;
import io.cephcsi.driver.node.CrushLocation;
import io.cephcsi.driver.node.machine.Argument;
import io.cephcsi.driver.node.machine.Command;
import io.cephcsi.driver.node.machine.Mount;
import io.cephcsi.driver.node.machine.MountTable;
import io.cephcsi.driver.node.machine.Mounts;
import io.cephcsi.driver.node.machine.ServerCgroup;
import io.cephcsi.driver.testing.NodeClient;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.NodeExpandVolumeRequest;
import io.cephcsi.proto.csi.v1.NodePublishVolumeRequest;
import io.cephcsi.proto.csi.v1.NodeStageVolumeRequest;
import io.cephcsi.proto.csi.v1.NodeUnstageVolumeRequest;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import io.cephcsi.proto.csi.v1.VolumeUsage;
import io.cephcsi.testing.Commands;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;

/** CephFS volumes on a node, over the socket; by ceph-fuse, or what the property says. */
public class NodeCephFsIT {
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final long SIZE = 64 << 20;
  private static final VolumeCapability WRITER = TestDriver.singleWriter();
  private static final VolumeCapability READER = TestDriver.onlyReader();

  private static TestDriver driver;

  private NodeClient node;
  private String name;

  @BeforeAll
  static void start() {
    driver =
        TestDriver.cephFs(CLUSTER)
            .instance("node-" + NodeClient.mounter())
            .withCredentials()
            .start();
  }

  @AfterAll
  static void stop() {
    driver.close();
  }

  @BeforeEach
  void connect(TestInfo info) {
    node = driver.node();
    name = info.getTestMethod().orElseThrow().getName() + "-" + UUID.randomUUID();
  }

  @AfterEach
  void nothingIsLeft() {
    nothingIsLeftNow();
    node.close();
  }

  private void nothingIsLeftNow() {
    assertThat(node.leftovers()).isEmpty();
    assertThat(node.files("node")).isEmpty();
  }

  @SuppressWarnings("CheckReturnValue")
  private void stage(Volume volume, VolumeCapability use, Map<String, String> more) {
    node.stub().nodeStageVolume(node.stageRequest(volume, use).putAllVolumeContext(more).build());
  }

  private void publishToRead(Volume volume, VolumeCapability use, String workload) {
    NodePublishVolumeRequest.Builder request = node.publishRequest(volume, use, workload);
    assertThat(node.stub().nodePublishVolume(request.setReadonly(true).build())).isNotNull();
  }

  private void unstageAt(Volume volume, Path staging) {
    NodeUnstageVolumeRequest.Builder request = NodeUnstageVolumeRequest.newBuilder();
    request.setVolumeId(volume.getVolumeId()).setStagingTargetPath(staging.toString());
    assertThat(node.stub().nodeUnstageVolume(request.build())).isNotNull();
  }

  private VolumeUsage bytes(Volume volume, String workload) {
    return node.stats(volume, workload).getUsageList().stream()
        .filter(usage -> usage.getUnit() == VolumeUsage.Unit.BYTES)
        .findFirst()
        .orElseThrow();
  }

  @Test
  void whatIsWrittenIsThereAgainAfterUnwinding() throws IOException {
    Volume volume = driver.create(name, SIZE);
    node.stage(volume, WRITER);
    node.stage(volume, WRITER);
    node.publish(volume, WRITER, "pod");
    node.publish(volume, WRITER, "pod");
    Files.writeString(node.target(volume, "pod").resolve("file"), "written");
    Path other = node.target(volume, "other");
    publishToRead(volume, WRITER, "other");
    assertThat(other.resolve("file")).hasContent("written");
    assertThatThrownBy(() -> Files.writeString(other.resolve("file"), "no"))
        .isInstanceOf(FileSystemException.class)
        .hasMessageContaining("Read-only");
    assertThat(bytes(volume, "pod").getTotal()).isEqualTo(SIZE);
    assertThat(node.stats(volume, "pod").getVolumeCondition().getAbnormal()).isFalse();

    node.unpublish(volume, "other");
    node.unpublish(volume, "pod");
    node.unpublish(volume, "pod");
    assertThat(node.target(volume, "pod")).doesNotExist();
    Path theirs = Files.createDirectories(driver.folder().resolve("mountinfo"));
    for (String id : List.of(volume.getVolumeId(), "other")) {
      Files.writeString(theirs.resolve("nodestage-" + id + ".json"), "secrets of ceph-csi");
    }
    unstageAt(volume, node.folder().resolve("staging/elsewhere"));
    unstageAt(volume, node.folder().resolve("plugins/kubernetes.io/csi/pv/else/globalmount"));
    assertThat(theirs.toFile().list()).hasSize(2);
    node.unstage(volume);
    node.unstage(volume);
    assertThat(theirs).isDirectoryContaining("glob:**/nodestage-other.json");
    assertThat(theirs.toFile().list()).hasSize(1);
    assertThat(node.staging(volume)).isEmptyDirectory();

    node.stage(volume, WRITER);
    assertThat(node.staging(volume).resolve("file")).hasContent("written");
    node.unstage(volume);
    driver.delete(volume.getVolumeId());
  }

  @Test
  void eachPodsGroupGetsTheVolumeThatIsStagedAlready() throws IOException {
    Volume volume = driver.create(name, SIZE);
    VolumeCapability.Builder use = WRITER.toBuilder();
    use.getMountBuilder().setVolumeMountGroup("4711");
    node.stage(volume, use.build());
    node.publish(volume, use.build(), "first");
    Files.writeString(node.target(volume, "first").resolve("file"), "x");
    use.getMountBuilder().setVolumeMountGroup("4712");
    node.publish(volume, use.build(), "second");
    assertThat(Files.getAttribute(node.target(volume, "second").resolve("file"), "unix:gid"))
        .isEqualTo(4712);
    node.unpublish(volume, "first");
    node.unpublish(volume, "second");
    node.unstage(volume);
    driver.delete(volume.getVolumeId());
  }

  @Test
  void shallowVolumesShowTheirSnapshotAndNothingAboveIt() throws IOException {
    Volume source = driver.create(name + "-source", SIZE);
    node.stage(source, WRITER);
    Files.writeString(node.staging(source).resolve("file"), "old");
    node.unstage(source);
    String snapshot = driver.snapshot(name, source.getVolumeId()).getSnapshotId();
    node.stage(source, WRITER);
    Files.writeString(node.staging(source).resolve("file"), "new");
    node.unstage(source);

    Volume shallow = driver.show(name, snapshot);
    assertStatus(
        Status.Code.INVALID_ARGUMENT, () -> node.stage(shallow, WRITER)); // it is only read
    node.stage(shallow, READER);
    node.stage(shallow, READER);
    Mount staged = MountTable.read().at(node.staging(shallow)).orElseThrow();
    assertThat(staged.root()).startsWith("/.snap/");
    assertThat(staged.isReadOnly()).isTrue();
    assertThat(MountTable.read().ofDevice(staged.device())).hasSize(1);
    publishToRead(shallow, READER, "pod");
    assertThat(node.target(shallow, "pod").resolve("file")).hasContent("old");
    assertThat(node.target(shallow, "pod"))
        .isDirectoryNotContaining(path -> path.endsWith(".meta"));
    assertThatThrownBy(() -> Files.writeString(node.target(shallow, "pod").resolve("other"), "no"))
        .isInstanceOf(FileSystemException.class);
    VolumeUsage usage = bytes(shallow, "pod");
    assertThat(usage.getAvailable()).isZero();
    assertThat(usage.getTotal()).as("not the room of the cluster").isBetween(3L, SIZE);
    assertThat(usage.getUsed()).isEqualTo(3);

    node.unpublish(shallow, "pod");
    node.unstage(shallow);
    driver.delete(shallow.getVolumeId());
    driver.deleteSnapshot(snapshot);
    driver.delete(source.getVolumeId());
  }

  /** What a driver leaves that dies when the parent is mounted and the snapshot not yet bound. */
  @Test
  void aParentThatACrashLeftIsNeverShown() throws IOException {
    Volume source = driver.create(name + "-source", SIZE);
    node.stage(source, WRITER);
    Files.writeString(node.staging(source).resolve("file"), "old");
    node.unstage(source);
    String snapshot = driver.snapshot(name, source.getVolumeId()).getSnapshotId();
    Volume shallow = driver.show(name, snapshot);
    node.stage(shallow, READER);
    Mount first = MountTable.read().at(node.staging(shallow)).orElseThrow();
    Path left = parent(shallow);
    Files.createDirectories(left);
    Mounts.bind(node.staging(shallow), left); // stands for the parent
    Mounts.unmountAll(node.staging(shallow));
    assertThat(MountTable.read().at(left).orElseThrow().device()).isEqualTo(first.device());

    assertStatus(Status.Code.FAILED_PRECONDITION, () -> publishToRead(shallow, READER, "pod"));
    assertThat(MountTable.read().at(node.target(shallow, "pod"))).isEmpty();
    node.stage(shallow, READER);
    assertThat(MountTable.read().at(left)).isEmpty();
    assertThat(left).doesNotExist();
    assertThat(node.staging(shallow).resolve("file")).hasContent("old");

    Files.createDirectories(left);
    Mounts.bind(node.staging(shallow), left);
    node.unstage(shallow);
    assertThat(MountTable.read().at(left)).isEmpty();
    driver.delete(shallow.getVolumeId());
    driver.deleteSnapshot(snapshot);
    driver.delete(source.getVolumeId());
  }

  private Path parent(Volume shallow) {
    return new PrivateMounts(
            node.folder().resolve("node/parents"),
            CephFsMounters.usual(new CrushLocation(Map.of()), ServerCgroup.none()))
        .of(node.staging(shallow));
  }

  /** A staging path that shows the parent, as another driver may leave it, is not published. */
  @Test
  void aStagedParentIsRefused() {
    Volume source = driver.create(name + "-source", SIZE);
    String snapshot = driver.snapshot(name, source.getVolumeId()).getSnapshotId();
    Volume shallow = driver.show(name, snapshot);
    NodeStageVolumeRequest.Builder there = node.stageRequest(source, WRITER);
    there.setStagingTargetPath(node.staging(shallow).toString());
    assertThat(node.stub().nodeStageVolume(there.build())).isNotNull();
    assertStatus(Status.Code.FAILED_PRECONDITION, () -> publishToRead(shallow, READER, "pod"));
    assertStatus(Status.Code.FAILED_PRECONDITION, () -> node.stage(shallow, READER));
    assertThat(MountTable.read().at(node.target(shallow, "pod"))).isEmpty();
    unstageAt(source, node.staging(shallow));
    driver.delete(shallow.getVolumeId());
    driver.deleteSnapshot(snapshot);
    driver.delete(source.getVolumeId());
  }

  @Test
  void aDeadMountIsReportedAndReplaced() throws Exception {
    assumeThat(NodeClient.mounter()).as("only ceph-fuse can be killed").isEqualTo("fuse");
    Volume volume = driver.create(name, SIZE);
    node.stage(volume, WRITER);
    node.publish(volume, WRITER, "pod");
    Files.writeString(node.target(volume, "pod").resolve("file"), "written");
    Command.of("sync", "--file-system").with(Argument.path(node.target(volume, "pod"))).run();
    kill(volume);
    assertThat(node.stats(volume, "pod").getVolumeCondition().getAbnormal()).isTrue();
    assertStatus(Status.Code.FAILED_PRECONDITION, () -> node.publish(volume, WRITER, "other"));
    node.stage(volume, WRITER);
    assertThat(node.staging(volume).resolve("file")).hasContent("written");
    node.publish(volume, WRITER, "pod"); // over the dead one
    assertThat(node.target(volume, "pod").resolve("file")).hasContent("written");
    node.unpublish(volume, "pod");
    kill(volume);
    node.unstage(volume);
    driver.delete(volume.getVolumeId());
  }

  /** Kills what serves the staging path; the MDS would wait half a minute for it. */
  private void kill(Volume volume) throws Exception {
    for (ProcessHandle server : node.daemons()) {
      server.destroyForcibly();
      server.onExit().get(10, TimeUnit.SECONDS);
    }
    CLUSTER.ceph(
        "tell", "mds.0", "session", "evict", "client_metadata.mount_point=" + node.staging(volume));
  }

  @Test
  void aMountWhoseClientWasEvictedIsReportedAndReplaced() throws IOException {
    Volume volume = driver.create(name, SIZE);
    node.stage(volume, WRITER);
    node.publish(volume, WRITER, "pod");
    Files.writeString(node.target(volume, "pod").resolve("file"), "written");
    Command.of("sync", "--file-system").with(Argument.path(node.target(volume, "pod"))).run();
    String root = volume.getVolumeContextOrThrow("subvolumePath");
    CLUSTER.ceph("tell", "mds.0", "session", "evict", "client_metadata.root=" + root);
    Awaitility.await()
        .atMost(Duration.ofMinutes(2))
        .until(() -> node.stats(volume, "pod").getVolumeCondition().getAbnormal());
    node.stage(volume, WRITER);
    assertThat(node.staging(volume).resolve("file")).hasContent("written");
    node.publish(volume, WRITER, "pod"); // over the dead one
    assertThat(node.target(volume, "pod").resolve("file")).hasContent("written");
    assertThat(node.stats(volume, "pod").getVolumeCondition().getAbnormal()).isFalse();
    node.unpublish(volume, "pod");
    node.unstage(volume);
    driver.delete(volume.getVolumeId());
  }

  @Test
  void anExpansionTellsTheQuotaToTheByte() {
    Volume volume = driver.create(name, 1_000_000_000);
    node.stage(volume, WRITER);
    NodeExpandVolumeRequest.Builder request =
        NodeExpandVolumeRequest.newBuilder()
            .setVolumeId(volume.getVolumeId())
            .setVolumePath(node.staging(volume).toString());
    request.getCapacityRangeBuilder().setRequiredBytes(volume.getCapacityBytes());
    assertThat(node.stub().nodeExpandVolume(request.build()).getCapacityBytes())
        .isEqualTo(volume.getCapacityBytes());
    node.unstage(volume);
    driver.delete(volume.getVolumeId());
  }

  /** The mount is gone before all is written: a call after one that died there waits, too. */
  @Test
  void unstagingAgainWaitsForWhatIsNotWrittenYet() {
    assumeThat(NodeClient.mounter()).as("only ceph-fuse can be stopped").isEqualTo("fuse");
    Volume volume = driver.create(name, SIZE);
    node.stage(volume, WRITER);
    ProcessHandle server = node.daemons().get(0);
    signal("STOP", server);
    CompletableFuture<Void> unstaged;
    try {
      Mounts.unmountAll(node.staging(volume));
      unstaged = CompletableFuture.runAsync(() -> node.unstage(volume));
      Awaitility.await()
          .during(Duration.ofSeconds(2))
          .atMost(Duration.ofSeconds(20))
          .until(() -> !unstaged.isDone());
    } finally {
      signal("CONT", server);
    }
    unstaged.join();
    assertThat(node.daemons()).isEmpty();
    driver.delete(volume.getVolumeId());
  }

  private static void signal(String signal, ProcessHandle process) {
    Commands.run(List.of("bash", "-c", "kill -" + signal + " " + process.pid()));
  }

  @Test
  void whatOthersMountedIsLeftAlone() throws IOException {
    Volume volume = driver.create(name, SIZE);
    Files.createDirectories(node.staging(volume));
    Mounts.mount("tmpfs", "somebody", node.staging(volume), List.of());
    assertStatus(Status.Code.FAILED_PRECONDITION, () -> node.stage(volume, WRITER));
    assertStatus(Status.Code.FAILED_PRECONDITION, () -> node.unstage(volume));
    assertStatus(Status.Code.FAILED_PRECONDITION, () -> node.publish(volume, WRITER, "pod"));
    assertThat(MountTable.read().at(node.staging(volume)).orElseThrow().source())
        .isEqualTo("somebody");
    Mounts.unmountAll(node.staging(volume));
    driver.delete(volume.getVolumeId());
  }

  @Test
  void aSingleWriterHasOneTarget() {
    VolumeCapability single =
        WRITER.toBuilder()
            .setAccessMode(
                VolumeCapability.AccessMode.newBuilder().setMode(Mode.SINGLE_NODE_SINGLE_WRITER))
            .build();
    Volume volume = driver.create(name, SIZE);
    node.stage(volume, single);
    node.publish(volume, single, "pod");
    assertStatus(Status.Code.FAILED_PRECONDITION, () -> node.publish(volume, single, "other"));
    node.unpublish(volume, "pod");
    node.unstage(volume);
    driver.delete(volume.getVolumeId());
  }

  @Test
  void mountOptionsOfTheDriverArriveWhereTheClustersFileHasNone() {
    ClusterDefaults defaults = new ClusterDefaults("noexec", "noexec", List.of(), "");
    TestDriver with =
        TestDriver.cephFs(CLUSTER).instance("defaults").clusterDefaults(defaults).start();
    try (with;
        NodeClient client = with.node()) {
      Volume volume = with.create(name, SIZE);
      client.stage(volume, WRITER);
      Mount mount = MountTable.read().at(client.staging(volume)).orElseThrow();
      assertThat(mount.options()).contains("noexec");
      client.unstage(volume);
      with.delete(volume.getVolumeId());
      assertThat(client.leftovers()).isEmpty();
    }
  }

  @Test
  void mountOptionsOfTheStorageClassAndOfTheCapabilityArrive() throws IOException {
    Volume volume = driver.create(name, SIZE);
    VolumeCapability noatime =
        WRITER.toBuilder()
            .setMount(VolumeCapability.MountVolume.newBuilder().addMountFlags("nodev,noatime"))
            .build();
    stage(volume, noatime, Map.of(NodeClient.mounter() + "MountOptions", "noexec"));
    Mount mount = MountTable.read().at(node.staging(volume)).orElseThrow();
    assertThat(mount.options()).contains("noatime", "noexec", "nodev");
    node.unstage(volume);
    for (String option : List.of("subtype=x", "name=admin", "modules=subdir", "secretfile=/x")) {
      assertStatus(
          Status.Code.INVALID_ARGUMENT,
          "MountOptions",
          () -> stage(volume, WRITER, Map.of(NodeClient.mounter() + "MountOptions", option)));
    }
    VolumeCapability loop =
        WRITER.toBuilder()
            .setMount(VolumeCapability.MountVolume.newBuilder().addMountFlags("noatime,loop"))
            .build();
    assertStatus(Status.Code.INVALID_ARGUMENT, "mount_flags", () -> node.stage(volume, loop));
    if (NodeClient.mounter().equals("fuse")) {
      Path file = Files.createFile(node.staging(volume).resolve("file"));
      assertStatus(Status.Code.FAILED_PRECONDITION, "not empty", () -> node.stage(volume, WRITER));
      Files.delete(file);
    }
    driver.delete(volume.getVolumeId());
  }

  @Test
  void aVolumeThatIsGoneAndAnUnknownMounterAreTold() {
    Volume volume = driver.create(name, SIZE);
    driver.delete(volume.getVolumeId());
    assertStatus(Status.Code.NOT_FOUND, () -> node.stage(volume, WRITER));
    assertStatus(
        Status.Code.INVALID_ARGUMENT, () -> stage(volume, WRITER, Map.of("mounter", "floppy")));
    assertStatus(Status.Code.NOT_FOUND, () -> node.stats(volume, "pod"));
    node.unstage(volume);
    node.unpublish(volume, "pod");
  }

  /** What a volume is that somebody deletes between the look at it and the mount. */
  @Test
  void aDirectoryThatIsGoneIsNotFound() throws IOException {
    Volume volume = driver.create(name, SIZE);
    String path = volume.getVolumeContextOrThrow("subvolumePath");
    assertStatus(
        Status.Code.NOT_FOUND,
        text -> assertThat(text).contains(path + "-gone").doesNotContain("\n"),
        () -> stage(volume, WRITER, Map.of("subvolumePath", path + "-gone")));
    Volume other = driver.create(name + "-other", SIZE);
    String way = other.getVolumeContextOrThrow("subvolumePath").replace("/volumes/csi/", "/../../");
    stage(volume, WRITER, Map.of("subvolumePath", path + way)); // no way to others
    Files.writeString(node.staging(volume).resolve("own"), "written");
    node.unstage(volume);
    driver.delete(other.getVolumeId());
    node.stage(volume, WRITER);
    assertThat(node.staging(volume).resolve("own")).hasContent("written");
    node.unstage(volume);
    driver.delete(volume.getVolumeId());
  }

  @Test
  void aUserWithoutThePathIsDenied() {
    Volume volume = driver.create(name, SIZE);
    String user = "client." + name;
    String elsewhere = "allow r fsname=" + CLUSTER.fileSystem() + " path=/elsewhere";
    CLUSTER.ceph("auth", "add", user, "mon", "allow r", "mds", elsewhere, "osd", "allow rw");
    NodeStageVolumeRequest request =
        node.stageRequest(volume, WRITER)
            .putSecrets("userID", name)
            .putSecrets("userKey", CLUSTER.ceph("auth", "print-key", user).strip())
            .build();
    assertStatus(
        Status.Code.PERMISSION_DENIED,
        volume.getVolumeContextOrThrow("subvolumePath"),
        () -> assertThat(node.stub().nodeStageVolume(request)).isNull());
    CLUSTER.ceph("auth", "rm", user);
    driver.delete(volume.getVolumeId());
  }

  /** Such as by root_squash. */
  @Test
  void aVolumeThatCannotBeGivenToItsGroupIsNotLeft() {
    Volume volume = driver.create(name, SIZE);
    String user = "client." + name;
    String reads = "allow r fsname=" + CLUSTER.fileSystem();
    CLUSTER.ceph("auth", "add", user, "mon", "allow r", "mds", reads, "osd", "allow rw");
    NodeStageVolumeRequest.Builder request =
        node.stageRequest(volume, WRITER)
            .putSecrets("userID", name)
            .putSecrets("userKey", CLUSTER.ceph("auth", "print-key", user).strip());
    NodeStageVolumeRequest plain = request.build();
    request.getVolumeCapabilityBuilder().getMountBuilder().setVolumeMountGroup("4711");
    ThrowingCallable withGroup = () -> node.stub().nodeStageVolume(request.build());
    assertStatus(Status.Code.FAILED_PRECONDITION, "group 4711", withGroup);
    nothingIsLeftNow();
    assertThat(node.stub().nodeStageVolume(plain)).isNotNull();
    assertStatus(Status.Code.UNAVAILABLE, "group 4711", withGroup); // kubelet unstages it
    assertThat(MountTable.read().at(node.staging(volume))).isPresent();
    node.unstage(volume);
    CLUSTER.ceph("auth", "rm", user);
    driver.delete(volume.getVolumeId());
  }

  @Test
  void aWrongKeyIsTold() {
    Volume volume = driver.create(name, SIZE);
    String key = driver.secrets().get("userKey");
    int middle = key.length() / 2;
    String wrong =
        key.substring(0, middle)
            + (key.charAt(middle) == 'A' ? 'B' : 'A')
            + key.substring(middle + 1);
    NodeStageVolumeRequest request =
        node.stageRequest(volume, WRITER).putSecrets("userKey", wrong).build();
    ThrowingCallable call = () -> assertThat(node.stub().nodeStageVolume(request)).isNull();
    Consumer<String> hidden = text -> assertThat(text).doesNotContain(wrong);
    assertStatus(Status.Code.UNAUTHENTICATED, hidden, call);
    node.stage(volume, WRITER); // as by a driver that was killed before it answered
    assertStatus(Status.Code.UNAVAILABLE, "NodeUnstageVolume", call);
    assertStatus(Status.Code.UNAVAILABLE, hidden, call);
    node.stage(volume, WRITER);
    node.unstage(volume);
    nothingIsLeftNow();
    assertStatus(Status.Code.UNAUTHENTICATED, hidden, call);
    driver.delete(volume.getVolumeId());
  }

  @Test
  void theKeyIsSeenNowhere() throws IOException {
    Volume volume = driver.create(name, SIZE);
    node.stage(volume, WRITER);
    String key = driver.secrets().get("userKey");
    for (ProcessHandle server : node.daemons()) {
      assertThat(Files.readString(Path.of("/proc/" + server.pid() + "/cmdline")))
          .doesNotContain(key);
    }
    assertThat(Files.readString(Path.of("/proc/self/mountinfo"))).doesNotContain(key);
    node.unstage(volume);
    driver.delete(volume.getVolumeId());
  }
}
