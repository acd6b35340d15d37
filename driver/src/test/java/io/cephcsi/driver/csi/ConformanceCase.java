package io.cephcsi.driver.csi;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.Message;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.CapacityRange;
import io.cephcsi.proto.csi.v1.ControllerExpandVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerGrpc.ControllerBlockingStub;
import io.cephcsi.proto.csi.v1.ControllerPublishVolumeRequest;
import io.cephcsi.proto.csi.v1.ControllerUnpublishVolumeRequest;
import io.cephcsi.proto.csi.v1.CreateSnapshotRequest;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.DeleteSnapshotRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeRequest;
import io.cephcsi.proto.csi.v1.NodeGetInfoRequest;
import io.cephcsi.proto.csi.v1.NodeGrpc;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Function;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;

/**
 * What the parts of the conformance suite share: a driver with an instance of its own, which each
 * kind of storage starts.
 */
abstract class ConformanceCase {
  static final long MIB = 1L << 20;

  /** Of a volume: the least that an encrypted one may have. */
  static final long SIZE = 32 * MIB;

  static final TestCluster CLUSTER = TestCluster.shared();

  /** An identifier that parses, of a volume or snapshot that never was. */
  static final String NOBODY = "0001-000c-test-cluster-0000000000000001-" + new UUID(7, 7);

  @SuppressWarnings("NullAway.Init")
  static Kind kind;

  @SuppressWarnings("NullAway.Init")
  static TestDriver driver;

  /** Starts the driver of a kind of storage, for the tests of a class. */
  static void start(Kind storage) {
    start(storage, storage.start(CLUSTER, newInstance(), true));
  }

  /** The same for RBD with a class that encrypts. */
  static void startEncrypted() {
    start(
        Kind.RBD,
        TestDriver.rbd(CLUSTER)
            .instance(newInstance())
            .withCredentials()
            .encrypted(Path.of("/nonexistent"), "default")
            .start());
  }

  private static void start(Kind storage, TestDriver started) {
    kind = storage;
    driver = started;
  }

  static String newInstance() {
    return "conf-" + UUID.randomUUID();
  }

  @AfterAll
  static void stop() {
    driver.close();
  }

  static ControllerBlockingStub controller() {
    return driver.controller();
  }

  static String newName() {
    return "pvc-" + UUID.randomUUID();
  }

  static Volume create() {
    return driver.create(newName(), SIZE);
  }

  /** Asks for a volume until its content is copied, as the CO does. */
  static Volume await(CreateVolumeRequest request) {
    return Awaitility.await()
        .atMost(Duration.ofMinutes(1))
        .until(
            () -> {
              try {
                return Optional.of(controller().createVolume(request).getVolume());
              } catch (StatusRuntimeException e) {
                assertThat(e.getStatus().getCode()).isEqualTo(Code.ABORTED);
                return Optional.<Volume>empty();
              }
            },
            Optional::isPresent)
        .orElseThrow();
  }

  static DeleteVolumeRequest.Builder delete(String volumeId) {
    return DeleteVolumeRequest.newBuilder().setVolumeId(volumeId).putAllSecrets(driver.secrets());
  }

  static ControllerExpandVolumeRequest.Builder expand(String volumeId, long bytes) {
    return ControllerExpandVolumeRequest.newBuilder()
        .setVolumeId(volumeId)
        .setCapacityRange(CapacityRange.newBuilder().setRequiredBytes(bytes))
        .setVolumeCapability(TestDriver.singleWriter())
        .putAllSecrets(driver.secrets());
  }

  static CreateSnapshotRequest.Builder snapshot(String name, String source) {
    return CreateSnapshotRequest.newBuilder()
        .setName(name)
        .setSourceVolumeId(source)
        .putParameters("clusterID", TestDriver.CLUSTER_ID)
        .putAllSecrets(driver.secrets());
  }

  static Snapshot createSnapshot(String source) {
    return controller().createSnapshot(snapshot("snap-" + newName(), source).build()).getSnapshot();
  }

  static DeleteSnapshotRequest.Builder deleteSnapshot(String snapshotId) {
    return DeleteSnapshotRequest.newBuilder()
        .setSnapshotId(snapshotId)
        .putAllSecrets(driver.secrets());
  }

  static String node() {
    return NodeGrpc.newBlockingStub(driver.channel())
        .nodeGetInfo(NodeGetInfoRequest.getDefaultInstance())
        .getNodeId();
  }

  static ControllerPublishVolumeRequest.Builder publish(String volumeId, String nodeId) {
    return ControllerPublishVolumeRequest.newBuilder()
        .setVolumeId(volumeId)
        .setNodeId(nodeId)
        .setVolumeCapability(TestDriver.singleWriter())
        .putAllSecrets(driver.secrets());
  }

  static ControllerUnpublishVolumeRequest.Builder unpublish(String volumeId, String nodeId) {
    return ControllerUnpublishVolumeRequest.newBuilder()
        .setVolumeId(volumeId)
        .setNodeId(nodeId)
        .putAllSecrets(driver.secrets());
  }

  static VolumeCapability block(VolumeCapability.AccessMode.Mode mode) {
    return VolumeCapability.newBuilder()
        .setBlock(VolumeCapability.BlockVolume.getDefaultInstance())
        .setAccessMode(VolumeCapability.AccessMode.newBuilder().setMode(mode))
        .build();
  }

  /** The request without one field, or with one too large, is refused naming the field. */
  static <Q extends Message> void assertInvalid(String field, Function<Q, ?> call, Q request) {
    assertStatus(Code.INVALID_ARGUMENT, field, () -> call.apply(request));
  }
}
