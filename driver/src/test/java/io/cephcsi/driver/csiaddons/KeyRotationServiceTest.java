package io.cephcsi.driver.csiaddons;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static io.cephcsi.driver.testing.Statuses.untilNotAborted;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.csi.NodeCredentials;
import io.cephcsi.driver.csi.NodeIdentity;
import io.cephcsi.driver.csi.NodeService;
import io.cephcsi.driver.grpc.MemoryBudget;
import io.cephcsi.driver.grpc.SocketChannels;
import io.cephcsi.driver.grpc.SocketServer;
import io.cephcsi.driver.metrics.DriverMetrics;
import io.cephcsi.driver.node.ClusterUsers;
import io.cephcsi.driver.node.NodeVolumes;
import io.cephcsi.driver.node.PublishRequest;
import io.cephcsi.driver.node.StageRequest;
import io.cephcsi.driver.node.VolumeStats;
import io.cephcsi.driver.operation.Operation;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.addons.encryptionkeyrotation.EncryptionKeyRotateRequest;
import io.cephcsi.proto.addons.encryptionkeyrotation.EncryptionKeyRotateResponse;
import io.cephcsi.proto.addons.encryptionkeyrotation.EncryptionKeyRotationControllerGrpc;
import io.cephcsi.proto.csi.v1.NodeGrpc;
import io.cephcsi.proto.csi.v1.NodeUnstageVolumeRequest;
import io.cephcsi.proto.csi.v1.NodeUnstageVolumeResponse;
import io.grpc.ManagedChannel;
import io.grpc.Status.Code;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Rotations beside the other calls of a node, while the KMS lets them wait. */
@Timeout(60)
class KeyRotationServiceTest {
  private static final Duration SOON = Duration.ofSeconds(20);
  private static final String VOLUME = new VolumeId("a-cluster", 2, UUID.randomUUID()).toString();

  @TempDir private Path folder;
  private final CountDownLatch begun = new CountDownLatch(1);
  private final CountDownLatch kmsAnswers = new CountDownLatch(1);
  private final AtomicInteger replaced = new AtomicInteger();
  private final AtomicInteger unstaged = new AtomicInteger();
  private final SocketChannels channels = new SocketChannels();
  private ClusterExecutors executors;
  private SocketServer server;
  private ManagedChannel channel;

  @BeforeEach
  void serve() throws IOException {
    Path clusters =
        Files.writeString(
            folder.resolve("config.json"),
            "[{\"clusterID\": \"a-cluster\", \"monitors\": [\"127.0.0.1:1\"]}]");
    executors = new ClusterExecutors(new ClusterDirectory(clusters), 2, 2);
    OperationRegistry operations = new OperationRegistry(SOON);
    Path socket = folder.resolve("csi.sock");
    server =
        SocketServer.start(
            socket,
            "a-driver",
            List.of(
                new KeyRotationService(this::rotate, operations, executors),
                new NodeService(
                    new NodeIdentity(
                        "a-node", 0, () -> CompletableFuture.completedFuture(Map.of())),
                    new NodeCredentials(Storage.RBD, Optional.empty()),
                    new Unstaging(),
                    operations,
                    executors)),
            new DriverMetrics(),
            new MemoryBudget());
    channel = channels.open(socket);
  }

  @AfterEach
  void stop() {
    kmsAnswers.countDown();
    channel.shutdownNow();
    channels.close();
    server.close();
    executors.close();
  }

  private void rotate(VolumeId id, Credentials user, Operation operation) {
    begun.countDown();
    try {
      assertThat(kmsAnswers.await(40, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
    replaced.incrementAndGet();
  }

  /** A node that only unstages. */
  private final class Unstaging implements NodeVolumes {
    @Override
    public void stage(StageRequest request, Operation operation) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void unstage(String volumeId, Path stagingPath) {
      unstaged.incrementAndGet();
    }

    @Override
    public void publish(PublishRequest request, Operation operation) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void unpublish(String volumeId, Path target) {
      throw new UnsupportedOperationException();
    }

    @Override
    public long expand(
        String volumeId,
        Path volumePath,
        Optional<Path> stagingPath,
        long required,
        ClusterUsers users,
        Operation operation) {
      throw new UnsupportedOperationException();
    }

    @Override
    public VolumeStats stats(String volumeId, Path volumePath, ClusterUsers users) {
      throw new UnsupportedOperationException();
    }
  }

  private static EncryptionKeyRotateRequest request() {
    return EncryptionKeyRotateRequest.newBuilder()
        .setVolumeId(VOLUME)
        .putSecrets("userID", "a-user")
        .putSecrets("userKey", "AQ==")
        .build();
  }

  private Future<EncryptionKeyRotateResponse> begin() {
    return EncryptionKeyRotationControllerGrpc.newFutureStub(channel)
        .encryptionKeyRotate(request());
  }

  private EncryptionKeyRotateResponse rotate() {
    return EncryptionKeyRotationControllerGrpc.newBlockingStub(channel)
        .encryptionKeyRotate(request());
  }

  private NodeUnstageVolumeResponse unstage() {
    return NodeGrpc.newBlockingStub(channel)
        .nodeUnstageVolume(
            NodeUnstageVolumeRequest.newBuilder()
                .setVolumeId(VOLUME)
                .setStagingTargetPath(folder.resolve("staging").toString())
                .build());
  }

  @Test
  void theDeviceIsNotTakenAwayMeanwhile() throws Exception {
    Future<EncryptionKeyRotateResponse> rotating = begin();
    assertThat(begun.await(20, TimeUnit.SECONDS)).isTrue();
    assertStatus(Code.ABORTED, "EncryptionKeyRotate of volume " + VOLUME, this::unstage);
    assertThat(unstaged).hasValue(0);
    kmsAnswers.countDown();
    assertThat(rotating.get(20, TimeUnit.SECONDS)).isNotNull();
    assertThat(unstage()).isNotNull();
    assertThat(unstaged).hasValue(1);
    assertThat(replaced).hasValue(1);
  }

  @Test
  void aCallerThatComesBackGetsTheResultOfWhatWentOnMeanwhile() throws Exception {
    Future<EncryptionKeyRotateResponse> first = begin();
    assertThat(begun.await(20, TimeUnit.SECONDS)).isTrue();
    assertThat(first.cancel(true)).isTrue();
    assertStatus(Code.ABORTED, this::rotate);
    kmsAnswers.countDown();
    EncryptionKeyRotateResponse kept = untilNotAborted(SOON, this::rotate);
    assertThat(kept).isNotNull();
    assertThat(replaced).hasValue(1);
    assertThat(rotate()).isNotNull(); // the result is told once
    assertThat(replaced).hasValue(2);
  }
}
