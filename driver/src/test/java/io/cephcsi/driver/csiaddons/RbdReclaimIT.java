package io.cephcsi.driver.csiaddons;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.addons.identity.Capability;
import io.cephcsi.proto.addons.identity.GetCapabilitiesRequest;
import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceRequest;
import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceResponse;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class RbdReclaimIT {
  private static final int MIB = 1 << 20;
  private static final int OBJECT = 4 * MIB;
  private static final Pattern USED = Pattern.compile("\"used_size\":(\\d+)");
  private static final TestCluster CLUSTER = TestCluster.shared();

  @RegisterExtension static final TestDriver driver = TestDriver.rbd(CLUSTER).start();

  private static RadosCluster cluster;
  private static IoContext io;
  private static RbdPool pool;
  private Volume volume;

  @BeforeAll
  static void start() {
    cluster = CLUSTER.connect();
    io = cluster.openPool("rbd");
    pool = new RbdPool(io);
  }

  @AfterAll
  static void stop() {
    io.close();
    cluster.close();
  }

  @BeforeEach
  void create() {
    volume = driver.create("pvc-" + UUID.randomUUID(), 256 * MIB);
  }

  @AfterEach
  void delete() {
    driver.delete(volume.getVolumeId());
  }

  private String image() {
    return TestDriver.image(volume);
  }

  /** 64 MiB of data, 64 MiB of zeroes, and 16 objects whose second half is zeroes. */
  private void fill() {
    Random random = new Random(42);
    byte[] data = new byte[OBJECT];
    byte[] half = new byte[OBJECT];
    random.nextBytes(data);
    System.arraycopy(data, 0, half, 0, OBJECT / 2);
    try (RbdImage image = pool.open(image())) {
      for (int i = 0; i < 16; i++) {
        image.write((long) i * OBJECT, data);
        image.write((long) (16 + i) * OBJECT, new byte[OBJECT]);
        image.write((long) (32 + i) * OBJECT, half);
      }
      image.flush();
    }
  }

  private String checksum() {
    try (RbdImage image = pool.openReadOnly(image())) {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      for (long at = 0; at < image.size(); at += OBJECT) {
        digest.update(image.read(at, OBJECT));
      }
      return HexFormat.of().formatHex(digest.digest());
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }

  private long usedAsRbdSaysIt(String... options) {
    String[] command = new String[options.length + 4];
    System.arraycopy(options, 0, command, 3, options.length);
    command[0] = "du";
    command[1] = "--format";
    command[2] = "json";
    command[command.length - 1] = "rbd/" + image();
    Matcher used = USED.matcher(CLUSTER.rbd(command));
    assertThat(used.find()).isTrue();
    return Long.parseLong(used.group(1));
  }

  private ControllerReclaimSpaceRequest.Builder request(Map<String, String> parameters) {
    return ControllerReclaimSpaceRequest.newBuilder()
        .setVolumeId(volume.getVolumeId())
        .putAllParameters(parameters)
        .putAllSecrets(driver.secrets());
  }

  private ControllerReclaimSpaceResponse reclaim(Map<String, String> parameters) {
    return driver.reclaim().controllerReclaimSpace(request(parameters).build());
  }

  @Test
  void freesZeroesSaysHowMuchAndLeavesTheData() {
    fill();
    String before = checksum();
    long used = usedAsRbdSaysIt();
    assertThat(used).isEqualTo(192L * MIB);

    ControllerReclaimSpaceResponse answer = reclaim(Map.of());

    assertThat(answer.getPreUsage().getUsageBytes()).isEqualTo(used);
    assertThat(answer.getPostUsage().getUsageBytes())
        .isEqualTo(usedAsRbdSaysIt())
        .isEqualTo(128L * MIB);
    assertThat(checksum()).isEqualTo(before);

    ControllerReclaimSpaceResponse again = reclaim(Map.of());
    assertThat(again.getPreUsage()).isEqualTo(answer.getPostUsage());
    assertThat(again.getPostUsage()).isEqualTo(answer.getPostUsage());
  }

  @Test
  void exactUsageShowsWhatHalfZeroObjectsGaveBack() {
    fill();
    ControllerReclaimSpaceResponse answer = reclaim(Map.of("reclaim.exactUsage", "true"));
    assertThat(answer.getPreUsage().getUsageBytes()).isEqualTo(192L * MIB);
    assertThat(answer.getPostUsage().getUsageBytes())
        .isEqualTo(usedAsRbdSaysIt("--exact"))
        .isEqualTo(96L * MIB);
  }

  @Test
  void aDryRunForetellsTheUsageAndChangesNothing() {
    fill();
    ControllerReclaimSpaceResponse whole = reclaim(Map.of("reclaim.dryRun", "true"));
    assertThat(whole.getPreUsage().getUsageBytes()).isEqualTo(192L * MIB);
    assertThat(whole.getPostUsage().getUsageBytes()).isEqualTo(128L * MIB);
    ControllerReclaimSpaceResponse exact =
        reclaim(Map.of("reclaim.dryRun", "true", "reclaim.exactUsage", "true"));
    assertThat(exact.getPostUsage().getUsageBytes()).isEqualTo(96L * MIB);
    assertThat(usedAsRbdSaysIt()).isEqualTo(192L * MIB);
  }

  @Test
  void anEmptyVolumeHasNothingToFree() {
    ControllerReclaimSpaceResponse answer = reclaim(Map.of());
    assertThat(answer.hasPreUsage()).isTrue();
    assertThat(answer.getPreUsage().getUsageBytes()).isZero();
    assertThat(answer.getPostUsage().getUsageBytes()).isZero();
  }

  @Test
  void aVolumeInUseIsNotTouched() {
    fill();
    try (RbdImage user = pool.open(image())) {
      user.write(0, new byte[] {1});
      ControllerReclaimSpaceResponse answer = reclaim(Map.of());
      assertThat(answer.getPostUsage()).isEqualTo(answer.getPreUsage());
      assertThat(usedAsRbdSaysIt()).isEqualTo(192L * MIB);
      assertStatus(
          Code.FAILED_PRECONDITION, "in use", () -> reclaim(Map.of("reclaim.inUse", "fail")));
    }
    assertThat(reclaim(Map.of()).getPostUsage().getUsageBytes()).isEqualTo(128L * MIB);
  }

  @Test
  void aVolumeWhoseImageIsInTheTrashIsSkipped() {
    fill();
    String id = ImageId.find(pool, image()).orElseThrow();
    pool.moveToTrash(image(), Duration.ofHours(1));
    try {
      ControllerReclaimSpaceResponse answer = reclaim(Map.of());
      assertThat(answer.hasPreUsage() || answer.hasPostUsage()).isFalse();
    } finally {
      pool.restoreFromTrash(id, "");
    }
    assertThat(reclaim(Map.of()).getPostUsage().getUsageBytes()).isEqualTo(128L * MIB);
  }

  private void awaitBegin() {
    Awaitility.await()
        .atMost(Duration.ofSeconds(60))
        .pollInterval(Duration.ofMillis(20))
        .until(() -> CLUSTER.rbd("status", "rbd/" + image()).contains("watcher="));
  }

  @Test
  void aSecondCallIsAbortedWithThePercentAndTheFirstGoesOn() throws Exception {
    fill();
    // A slow reclaim: little at once, and slowed to a known rate.
    CompletableFuture<ControllerReclaimSpaceResponse> first =
        CompletableFuture.supplyAsync(
            () -> reclaim(Map.of("reclaim.maxBytesPerSecond", Long.toString(16L * MIB))));
    awaitBegin();
    Awaitility.await()
        .pollInterval(Duration.ofMillis(20))
        .untilAsserted(
            () ->
                assertStatus(
                    Code.ABORTED,
                    description ->
                        assertThat(description)
                            .contains("ControllerReclaimSpace")
                            .containsPattern("phase sparsify, [1-9]\\d? %"),
                    () -> reclaim(Map.of())));
    assertThat(first.get(60, TimeUnit.SECONDS).getPostUsage().getUsageBytes())
        .isEqualTo(128L * MIB);
  }

  @Test
  void aCallerThatGaveUpGetsTheResultByAskingAgain() {
    fill();
    Map<String, String> slowly = Map.of("reclaim.maxBytesPerSecond", Long.toString(96L * MIB));
    assertStatus(
        Code.DEADLINE_EXCEEDED,
        () ->
            driver
                .reclaim()
                .withDeadlineAfter(500, TimeUnit.MILLISECONDS)
                .controllerReclaimSpace(request(slowly).build()));
    ControllerReclaimSpaceResponse answer =
        Awaitility.await()
            .atMost(Duration.ofSeconds(60))
            .pollInterval(Duration.ofMillis(100))
            .until(
                () -> {
                  try {
                    return reclaim(slowly);
                  } catch (StatusRuntimeException e) {
                    assertThat(e.getStatus().getCode()).isEqualTo(Code.ABORTED);
                    return null;
                  }
                },
                Objects::nonNull);
    // The result of the call that was given up: measured before anything was freed.
    assertThat(answer.getPreUsage().getUsageBytes()).isEqualTo(192L * MIB);
    assertThat(answer.getPostUsage().getUsageBytes()).isEqualTo(128L * MIB);
  }

  @Test
  void givesWayWhenSomebodyOpensTheImage() throws Exception {
    fill();
    CompletableFuture<ControllerReclaimSpaceResponse> reclaiming =
        CompletableFuture.supplyAsync(
            () -> reclaim(Map.of("reclaim.maxBytesPerSecond", Long.toString(MIB))));
    awaitBegin();
    try (RbdImage newcomer = pool.open(image())) {
      ControllerReclaimSpaceResponse answer = reclaiming.get(60, TimeUnit.SECONDS);
      assertThat(answer.getPostUsage().getUsageBytes()).isGreaterThan(128L * MIB);
      newcomer.write(0, new byte[] {7});
      assertThat(newcomer.read(0, 1)).containsExactly(7);
    }
  }

  @Test
  void givesWayToAnyOtherCallOnTheVolume() throws Exception {
    fill();
    CompletableFuture<ControllerReclaimSpaceResponse> reclaiming =
        CompletableFuture.supplyAsync(
            () -> reclaim(Map.of("reclaim.maxBytesPerSecond", Long.toString(MIB))));
    awaitBegin();
    assertStatus(Code.ABORTED, "ControllerReclaimSpace", () -> driver.delete(volume.getVolumeId()));
    ControllerReclaimSpaceResponse answer = reclaiming.get(60, TimeUnit.SECONDS);
    assertThat(answer.getPostUsage().getUsageBytes()).isGreaterThan(128L * MIB);
    driver.delete(volume.getVolumeId());
  }

  @Test
  void requestsThatCannotBeServedSayWhy() {
    var reclaim = driver.reclaim();
    assertStatus(
        Code.INVALID_ARGUMENT,
        "volume_id",
        () -> reclaim.controllerReclaimSpace(ControllerReclaimSpaceRequest.getDefaultInstance()));
    assertStatus(
        Code.NOT_FOUND,
        () -> reclaim.controllerReclaimSpace(request(Map.of()).setVolumeId("no-id").build()));
    assertStatus(
        Code.NOT_FOUND,
        () ->
            reclaim.controllerReclaimSpace(
                request(Map.of())
                    .setVolumeId(
                        volume.getVolumeId().substring(0, volume.getVolumeId().length() - 4)
                            + "0000")
                    .build()));
    assertStatus(
        Code.UNAUTHENTICATED,
        () -> reclaim.controllerReclaimSpace(request(Map.of()).clearSecrets().build()));
    assertStatus(
        Code.UNAUTHENTICATED,
        () ->
            reclaim.controllerReclaimSpace(
                request(Map.of())
                    .putSecrets("userKey", "AQDYxsBgAAAAABAAZm9vYmFyYmF6cXV4Zm9vYg==")
                    .build()));
    assertStatus(
        Code.INVALID_ARGUMENT, "reclaim.speed", () -> reclaim(Map.of("reclaim.speed", "high")));
    assertStatus(
        Code.INVALID_ARGUMENT,
        "reclaim.sparseSize",
        () -> reclaim(Map.of("reclaim.sparseSize", "5000")));
    assertThat(reclaim(Map.of("other", "ignored")).hasPostUsage()).isTrue();
  }

  @Test
  void saysWhatItCanDo() {
    assertThat(
            driver
                .addonsIdentity()
                .getCapabilities(GetCapabilitiesRequest.getDefaultInstance())
                .getCapabilitiesList())
        .extracting(Capability::getTypeCase)
        .filteredOn(type -> type != Capability.TypeCase.VOLUME_GROUP)
        // each on the controller and on the node, but the last three
        .containsExactlyInAnyOrder(
            Capability.TypeCase.SERVICE,
            Capability.TypeCase.SERVICE,
            Capability.TypeCase.RECLAIM_SPACE,
            Capability.TypeCase.RECLAIM_SPACE,
            Capability.TypeCase.NETWORK_FENCE,
            Capability.TypeCase.NETWORK_FENCE,
            Capability.TypeCase.ENCRYPTION_KEY_ROTATION,
            Capability.TypeCase.VOLUME_REPLICATION,
            Capability.TypeCase.VOLUME_REPLICATION);
  }
}
