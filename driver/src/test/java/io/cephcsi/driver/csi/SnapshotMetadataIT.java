package io.cephcsi.driver.csi;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.cluster.ClusterExecutors;
import io.cephcsi.driver.cluster.ConnectionPool;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.rbd.diff.RbdSnapshotMetadata;
import io.cephcsi.driver.rbd.parameters.RbdSettings;
import io.cephcsi.driver.rbd.session.RbdSessions;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.volume.Extent;
import io.cephcsi.driver.volume.VolumeException;
import io.cephcsi.driver.volume.VolumeException.Reason;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.BlockMetadata;
import io.cephcsi.proto.csi.v1.BlockMetadataType;
import io.cephcsi.proto.csi.v1.GetMetadataAllocatedRequest;
import io.cephcsi.proto.csi.v1.GetMetadataAllocatedResponse;
import io.cephcsi.proto.csi.v1.GetMetadataDeltaRequest;
import io.cephcsi.proto.csi.v1.GetMetadataDeltaResponse;
import io.cephcsi.proto.csi.v1.GetPluginCapabilitiesRequest;
import io.cephcsi.proto.csi.v1.PluginCapability;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.SnapshotMetadataGrpc;
import io.cephcsi.proto.csi.v1.Volume;
import io.grpc.Status.Code;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Consumer;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** CSI SnapshotMetadata over the socket, and a backup that is made with it alone. */
class SnapshotMetadataIT extends ConformanceCase {
  private static final int SIZE = (int) (40 * MIB);
  private static final int OBJECT = (int) (4 * MIB);

  @BeforeAll
  static void start() {
    start(Kind.RBD);
  }

  private static SnapshotMetadataGrpc.SnapshotMetadataBlockingStub metadata() {
    return SnapshotMetadataGrpc.newBlockingStub(driver.channel());
  }

  private static GetMetadataAllocatedRequest.Builder allocatedOf(String snapshot) {
    return GetMetadataAllocatedRequest.newBuilder()
        .setSnapshotId(snapshot)
        .putAllSecrets(driver.secrets());
  }

  private static GetMetadataDeltaRequest.Builder deltaOf(String base, String target) {
    return GetMetadataDeltaRequest.newBuilder()
        .setBaseSnapshotId(base)
        .setTargetSnapshotId(target)
        .putAllSecrets(driver.secrets());
  }

  private static List<BlockMetadata> allocated(GetMetadataAllocatedRequest.Builder request) {
    List<BlockMetadata> blocks = new ArrayList<>();
    Iterator<GetMetadataAllocatedResponse> answers =
        metadata().getMetadataAllocated(request.build());
    assertThat(answers.hasNext()).isTrue();
    while (answers.hasNext()) {
      GetMetadataAllocatedResponse answer = answers.next();
      assertThat(answer.getVolumeCapacityBytes()).isEqualTo(SIZE);
      assertThat(answer.getBlockMetadataType()).isEqualTo(BlockMetadataType.VARIABLE_LENGTH);
      if (request.getMaxResults() > 0) {
        assertThat(answer.getBlockMetadataCount()).isLessThanOrEqualTo(request.getMaxResults());
      }
      blocks.addAll(answer.getBlockMetadataList());
    }
    assertRising(blocks);
    return blocks;
  }

  private static List<BlockMetadata> delta(GetMetadataDeltaRequest.Builder request) {
    List<BlockMetadata> blocks = new ArrayList<>();
    Iterator<GetMetadataDeltaResponse> answers = metadata().getMetadataDelta(request.build());
    assertThat(answers.hasNext()).isTrue();
    while (answers.hasNext()) {
      GetMetadataDeltaResponse answer = answers.next();
      assertThat(answer.getVolumeCapacityBytes()).isEqualTo(SIZE);
      if (request.getMaxResults() > 0) {
        assertThat(answer.getBlockMetadataCount()).isLessThanOrEqualTo(request.getMaxResults());
      }
      blocks.addAll(answer.getBlockMetadataList());
    }
    assertRising(blocks);
    return blocks;
  }

  /** Rising, and not even touching. */
  private static void assertRising(List<BlockMetadata> blocks) {
    long end = -1;
    for (BlockMetadata block : blocks) {
      assertThat(block.getByteOffset()).isGreaterThan(end);
      assertThat(block.getSizeBytes()).isPositive();
      end = block.getByteOffset() + block.getSizeBytes();
    }
    assertThat(end).isLessThanOrEqualTo(SIZE);
  }

  private static void onImage(Volume volume, Consumer<RbdImage> work) {
    try (var connection = CLUSTER.connect();
        var io = connection.openPool("rbd");
        var image = new RbdPool(io).open(TestDriver.image(volume))) {
      work.accept(image);
      image.flush();
    }
  }

  private static Volume volume(Map<String, String> parameters) {
    return driver.create(driver.createRequest(newName(), SIZE).putAllParameters(parameters));
  }

  private static Snapshot snapshot(Volume volume, String mode) {
    return controller()
        .createSnapshot(
            snapshot("snap-" + newName(), volume.getVolumeId())
                .putParameters("snapshotMode", mode)
                .build())
        .getSnapshot();
  }

  /** Writes and discards ranges that a seed determines; few enough that much stays the same. */
  private static void change(Volume volume, long seed) {
    Random random = new Random(seed);
    onImage(
        volume,
        image -> {
          for (int i = 0; i < 6; i++) {
            byte[] bytes = new byte[512 * (1 + random.nextInt(400))];
            random.nextBytes(bytes);
            image.write(512L * random.nextInt((SIZE - bytes.length) / 512), bytes);
          }
          image.discard((long) random.nextInt(SIZE / OBJECT) * OBJECT, OBJECT);
          image.discard(65536L * random.nextInt(SIZE / 65536 - 1), 65536);
        });
  }

  /** The content of a snapshot, as the command line, the independent client, reads it. */
  private static byte[] content(Volume volume, Snapshot snapshot, String mode) {
    String name = "csi-snap-" + VolumeId.parse(snapshot.getSnapshotId()).orElseThrow().uuid();
    String image = mode.equals("native") ? TestDriver.image(volume) : name;
    try {
      Path file = Files.createTempDirectory("content").resolve("image");
      CLUSTER.rbd("export", "rbd/" + image + "@" + name, file.toString(), "--no-progress");
      byte[] bytes = Files.readAllBytes(file);
      Files.delete(file);
      assertThat(bytes).hasSize(SIZE);
      return bytes;
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  private static long checksum(byte[] bytes) {
    CRC32C sum = new CRC32C();
    sum.update(bytes);
    return sum.getValue();
  }

  private static void copy(List<BlockMetadata> blocks, byte[] from, byte[] to) {
    for (BlockMetadata block : blocks) {
      int offset = (int) block.getByteOffset();
      System.arraycopy(from, offset, to, offset, (int) block.getSizeBytes());
    }
  }

  private static long bytes(List<BlockMetadata> blocks) {
    return blocks.stream().mapToLong(BlockMetadata::getSizeBytes).sum();
  }

  @ParameterizedTest
  @CsvSource({
    "image, 'layering,exclusive-lock,object-map,fast-diff,deep-flatten', ''",
    "image, layering, ''",
    "image, 'layering,exclusive-lock,object-map,fast-diff', 65536",
    "native, 'layering,exclusive-lock,object-map,fast-diff', ''",
    "native, layering, ''"
  })
  void aBackupOfFiveSnapshotsRestoresEachOfThem(String mode, String features, String stripeUnit) {
    Map<String, String> striped =
        stripeUnit.isEmpty()
            ? Map.of("imageFeatures", features)
            : Map.of(
                "imageFeatures",
                features,
                "stripeUnit",
                stripeUnit,
                "stripeCount",
                "3",
                "objectSize",
                Integer.toString(OBJECT));
    Volume volume = volume(striped);
    List<Snapshot> snapshots = new ArrayList<>();
    List<byte[]> contents = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      change(volume, 100 + i);
      snapshots.add(snapshot(volume, mode));
      contents.add(content(volume, snapshots.get(i), mode));
    }
    change(volume, 200);

    byte[] backup = new byte[SIZE];
    copy(allocated(allocatedOf(snapshots.get(0).getSnapshotId())), contents.get(0), backup);
    assertThat(checksum(backup)).isEqualTo(checksum(contents.get(0)));
    byte[] first = backup.clone();
    for (int i = 1; i < 5; i++) {
      List<BlockMetadata> blocks =
          delta(deltaOf(snapshots.get(i - 1).getSnapshotId(), snapshots.get(i).getSnapshotId()));
      assertThat(bytes(blocks)).isBetween(1L, SIZE / 2L);
      copy(blocks, contents.get(i), backup);
      assertThat(checksum(backup)).as("snapshot %d", i).isEqualTo(checksum(contents.get(i)));
    }
    List<BlockMetadata> all =
        delta(deltaOf(snapshots.get(0).getSnapshotId(), snapshots.get(4).getSnapshotId()));
    copy(all, contents.get(4), first);
    assertThat(checksum(first)).isEqualTo(checksum(contents.get(4)));
    assertThat(delta(deltaOf(snapshots.get(2).getSnapshotId(), snapshots.get(2).getSnapshotId())))
        .isEmpty();

    driver.delete(volume.getVolumeId());
    assertThat(delta(deltaOf(snapshots.get(0).getSnapshotId(), snapshots.get(4).getSnapshotId())))
        .as("of a volume that was deleted")
        .isEqualTo(all);
    snapshots.forEach(snapshot -> driver.deleteSnapshot(snapshot.getSnapshotId()));
  }

  @ParameterizedTest
  @CsvSource({"image", "native"})
  void oneBlockThatChangedIsAllThatChanged(String mode) {
    Volume volume = volume(Map.of());
    onImage(volume, image -> image.write(0, filled(SIZE / 2, 1)));
    Snapshot before = snapshot(volume, mode);
    onImage(
        volume,
        image -> {
          image.write(3 * MIB, filled(4096, 2));
          image.write(13 * MIB + 8192, filled(8192, 3));
        });
    Snapshot after = snapshot(volume, mode);
    assertThat(delta(deltaOf(before.getSnapshotId(), after.getSnapshotId())))
        .containsExactly(block(3 * MIB, 4096), block(13 * MIB + 8192, 8192));
    assertThat(
            delta(
                deltaOf(before.getSnapshotId(), after.getSnapshotId())
                    .setStartingOffset(13 * MIB + 12288)))
        .containsExactly(block(13 * MIB + 12288, 4096));
    driver.deleteSnapshot(before.getSnapshotId());
    driver.deleteSnapshot(after.getSnapshotId());
    driver.delete(volume.getVolumeId());
  }

  private static byte[] filled(int length, int value) {
    byte[] bytes = new byte[length];
    java.util.Arrays.fill(bytes, (byte) value);
    return bytes;
  }

  private static BlockMetadata block(long offset, long length) {
    return BlockMetadata.newBuilder().setByteOffset(offset).setSizeBytes(length).build();
  }

  @Test
  void aCloneHasWhatItsParentHas() {
    Volume parent = volume(Map.of());
    onImage(parent, image -> image.write(MIB, filled((int) MIB, 1)));
    Volume clone = driver.copy(newName(), 0, parent.getVolumeId());
    onImage(clone, image -> image.write(20 * MIB, filled(4096, 2)));
    Snapshot first = snapshot(clone, "image");
    byte[] backup = new byte[SIZE];
    byte[] content = content(clone, first, "image");
    copy(allocated(allocatedOf(first.getSnapshotId())), content, backup);
    assertThat(checksum(backup)).isEqualTo(checksum(content));
    onImage(clone, image -> image.write(MIB + 4096, filled(4096, 3)));
    Snapshot second = snapshot(clone, "image");
    assertThat(delta(deltaOf(first.getSnapshotId(), second.getSnapshotId())))
        .containsExactly(block(MIB + 4096, 4096));
    driver.deleteSnapshot(first.getSnapshotId());
    driver.deleteSnapshot(second.getSnapshotId());
    driver.delete(clone.getVolumeId());
    driver.delete(parent.getVolumeId());
  }

  @Test
  void pagesAndOffsetsGiveTheSameBlocks() {
    Volume volume = volume(Map.of());
    onImage(
        volume,
        image -> {
          for (int i = 0; i < 10; i += 2) {
            image.write((long) i * OBJECT, filled(4096 * (i + 1), 1));
          }
        });
    String id = snapshot(volume, "image").getSnapshotId();
    List<BlockMetadata> all = allocated(allocatedOf(id));
    assertThat(all).hasSize(5);
    assertThat(allocated(allocatedOf(id).setMaxResults(2))).isEqualTo(all);
    long middle = all.get(2).getByteOffset();
    assertThat(allocated(allocatedOf(id).setStartingOffset(middle))).isEqualTo(all.subList(2, 5));
    assertThat(allocated(allocatedOf(id).setStartingOffset(middle + 4096)).get(0))
        .isEqualTo(block(middle + 4096, all.get(2).getSizeBytes() - 4096));
    assertThat(allocated(allocatedOf(id).setStartingOffset(SIZE))).isEmpty();
    driver.deleteSnapshot(id);
    driver.delete(volume.getVolumeId());
  }

  @Test
  void requestsWithoutSecretsAreServedWithTheCredentialsOfTheDriver() {
    Volume volume = volume(Map.of());
    change(volume, 1);
    String first = snapshot(volume, "image").getSnapshotId();
    change(volume, 2);
    String second = snapshot(volume, "image").getSnapshotId();
    assertThat(allocated(allocatedOf(first).clearSecrets()))
        .isEqualTo(allocated(allocatedOf(first)));
    assertThat(delta(deltaOf(first, second).clearSecrets()))
        .isEqualTo(delta(deltaOf(first, second)));
    try (TestDriver without = kind.start(CLUSTER, driver.instanceId(), false)) {
      var other = SnapshotMetadataGrpc.newBlockingStub(without.channel());
      assertStatus(
          Code.UNAUTHENTICATED,
          () -> other.getMetadataAllocated(allocatedOf(first).clearSecrets().build()).hasNext());
      assertStatus(
          Code.UNAUTHENTICATED,
          () -> other.getMetadataDelta(deltaOf(first, second).clearSecrets().build()).hasNext());
    }
    driver.deleteSnapshot(second);
    driver.deleteSnapshot(first);
    driver.delete(volume.getVolumeId());
  }

  @Test
  void whatIsWrongIsSaid() {
    Volume volume = volume(Map.of());
    String first = snapshot(volume, "image").getSnapshotId();
    String second = snapshot(volume, "image").getSnapshotId();
    Volume stranger = volume(Map.of());
    String other = snapshot(stranger, "image").getSnapshotId();
    refused(Code.INVALID_ARGUMENT, "snapshot_id", allocatedOf(""));
    refused(Code.NOT_FOUND, "no-id", allocatedOf("no-id"));
    refused(Code.NOT_FOUND, NOBODY, allocatedOf(NOBODY));
    refused(Code.INVALID_ARGUMENT, "max_results", allocatedOf(first).setMaxResults(-1));
    refused(Code.OUT_OF_RANGE, "starting_offset", allocatedOf(first).setStartingOffset(-1));
    refused(Code.OUT_OF_RANGE, "starting_offset", allocatedOf(first).setStartingOffset(SIZE + 1));
    refused(Code.INVALID_ARGUMENT, "base_snapshot_id", deltaOf("", first));
    refused(Code.INVALID_ARGUMENT, "target_snapshot_id", deltaOf(first, ""));
    refused(Code.NOT_FOUND, NOBODY, deltaOf(NOBODY, first));
    refused(Code.NOT_FOUND, NOBODY, deltaOf(first, NOBODY));
    refused(Code.INVALID_ARGUMENT, "same volume", deltaOf(first, other));
    refused(Code.INVALID_ARGUMENT, "newer", deltaOf(second, first));
    refused(Code.OUT_OF_RANGE, "", deltaOf(first, second).setStartingOffset(SIZE + 1));
    refused(Code.INVALID_ARGUMENT, "max_results", deltaOf(first, second).setMaxResults(-1));
    CLUSTER.rbd(
        "flatten", "rbd/csi-snap-" + VolumeId.parse(first).orElseThrow().uuid(), "--no-progress");
    refused(Code.FAILED_PRECONDITION, "flattened", deltaOf(first, second));
    assertThat(allocated(allocatedOf(first))).isEmpty();
    List.of(first, second, other).forEach(driver::deleteSnapshot);
    driver.delete(volume.getVolumeId());
    driver.delete(stranger.getVolumeId());
  }

  private static void refused(Code code, String text, GetMetadataAllocatedRequest.Builder request) {
    assertStatus(code, text, () -> metadata().getMetadataAllocated(request.build()).hasNext());
  }

  private static void refused(Code code, String text, GetMetadataDeltaRequest.Builder request) {
    assertStatus(code, text, () -> metadata().getMetadataDelta(request.build()).hasNext());
  }

  @Test
  void itIsAdvertised() {
    assertThat(
            driver
                .identity()
                .getPluginCapabilities(GetPluginCapabilitiesRequest.getDefaultInstance())
                .getCapabilitiesList())
        .extracting(capability -> capability.getService().getType())
        .contains(PluginCapability.Service.Type.SNAPSHOT_METADATA_SERVICE);
  }

  /** Goes away after it was asked a number of times. */
  private static final class ShortOfPatience implements Extent.Sink {
    private int patience;

    ShortOfPatience(int patience) {
      this.patience = patience;
    }

    @Override
    public void accept(long capacity, List<Extent> extents) {
      assertThat(patience).isPositive();
    }

    @Override
    public void requireTaker() {
      patience--;
      assertThat(patience).as("no more work after that").isNotNegative();
      if (patience == 0) {
        throw new VolumeException(Reason.ABORTED, "went away");
      }
    }
  }

  private static void assertEndsEarly(Consumer<Extent.Request> work, int times) {
    for (int patience = 1; patience <= times; patience++) {
      Extent.Request request = new Extent.Request(0, 0, new ShortOfPatience(patience));
      assertThatThrownBy(() -> work.accept(request))
          .as("after " + patience)
          .isInstanceOfSatisfying(
              VolumeException.class, e -> assertThat(e.reason()).isEqualTo(Reason.ABORTED));
    }
  }

  /** Before the work begins, in the walk of each snapshot, and with each range that is compared. */
  @ParameterizedTest
  @ValueSource(strings = {"image", "native"})
  void theWorkEndsWhenTheClientWentAway(String mode) throws IOException {
    Volume volume = volume(Map.of("imageFeatures", "layering"));
    onImage(
        volume,
        image -> {
          image.write(0, filled(4096, 1));
          image.write(20 * MIB, filled(4096, 2));
        });
    Snapshot first = snapshot(volume, mode);
    onImage(volume, image -> image.write(20 * MIB, filled(4096, 3)));
    Snapshot second = snapshot(volume, mode);
    ClusterDirectory clusters =
        new ClusterDirectory(
            TestDriver.clustersFile(CLUSTER, Files.createTempDirectory("clusters")));
    Duration patience = Duration.ofSeconds(30);
    try (ConnectionPool connections = new ConnectionPool(patience, patience);
        ClusterExecutors executors = new ClusterExecutors(clusters, 1, 1);
        RbdSessions sessions =
            new RbdSessions(
                clusters,
                connections,
                executors,
                new OperationRegistry(patience),
                RbdSettings.of(driver.instanceId()))) {
      RbdSnapshotMetadata metadata = new RbdSnapshotMetadata(sessions);
      Credentials user = Storage.RBD.credentials(driver.secrets());
      VolumeId older = VolumeId.parse(first.getSnapshotId()).orElseThrow();
      VolumeId newer = VolumeId.parse(second.getSnapshotId()).orElseThrow();
      assertEndsEarly(request -> metadata.allocated(older, user, request), 4);
      assertEndsEarly(
          request -> metadata.delta(older, newer, user, request), mode.equals("image") ? 8 : 3);
    }
    driver.deleteSnapshot(first.getSnapshotId());
    driver.deleteSnapshot(second.getSnapshotId());
    driver.delete(volume.getVolumeId());
  }
}
