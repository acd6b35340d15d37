package io.cephcsi.driver.csiaddons;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static io.cephcsi.driver.testing.TestReplication.source;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.rados.ClassCall;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.MirrorInfo;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.testing.ImageContent;
import io.cephcsi.driver.testing.Statuses;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.testing.TestReplication;
import io.cephcsi.proto.addons.identity.Capability;
import io.cephcsi.proto.addons.identity.GetCapabilitiesRequest;
import io.cephcsi.proto.addons.replication.EnableVolumeReplicationRequest;
import io.cephcsi.proto.addons.replication.GetVolumeReplicationInfoRequest;
import io.cephcsi.proto.addons.replication.ReplicationSource;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** States and codes of replication where no daemon mirrors: a site that is on its own. */
@EnabledIf("io.cephcsi.testing.TestCluster#canControl")
class ReplicationIT {
  private static final long SIZE = 16L << 20;
  private static final Map<String, String> NONE = Map.of();
  private static final Duration LONGEST = Duration.ofMinutes(1);

  private static TestCluster ceph;
  private static TestDriver driver;
  private static TestReplication replication;
  private static RadosCluster cluster;
  private static IoContext io;
  private static RbdPool pool;

  private final String name = "volume-" + UUID.randomUUID();

  @BeforeAll
  static void start() {
    ceph = TestCluster.start("replication");
    ceph.rbd("mirror", "pool", "enable", ceph.pool(), "image");
    driver = TestDriver.rbd(ceph).start();
    replication = TestReplication.of(driver);
    cluster = ceph.connect();
    io = cluster.openPool(ceph.pool());
    pool = new RbdPool(io);
  }

  @AfterAll
  static void stop() {
    driver.close();
    io.close();
    cluster.close();
    ceph.close();
  }

  private Volume enabled() {
    Volume volume = driver.create(name, SIZE);
    replication.enable(volume.getVolumeId(), NONE);
    return volume;
  }

  private static Optional<MirrorInfo> mirroring(Volume volume) {
    try (RbdImage image = pool.openReadOnly(TestDriver.image(volume))) {
      return image.mirroring();
    }
  }

  private static boolean isPrimary(Volume volume) {
    return mirroring(volume).orElseThrow().primary();
  }

  private static String spec(Volume volume) {
    return ceph.pool() + "/" + TestDriver.image(volume);
  }

  private static void end(Volume volume) {
    replication.disable(volume.getVolumeId(), true);
    driver.delete(volume.getVolumeId());
  }

  @Test
  void bothCapabilitiesAreAdvertised() {
    assertThat(
            driver
                .addonsIdentity()
                .getCapabilities(GetCapabilitiesRequest.getDefaultInstance())
                .getCapabilitiesList())
        .filteredOn(Capability::hasVolumeReplication)
        .extracting(capability -> capability.getVolumeReplication().getType())
        .containsExactlyInAnyOrder(
            Capability.VolumeReplication.Type.VOLUME_REPLICATION,
            Capability.VolumeReplication.Type.GET_REPLICATION_DESTINATION_INFO);
  }

  @Test
  void whatIsEnabledIsEnabledAgainOnlyInItsMode() {
    Volume volume = enabled();
    String id = volume.getVolumeId();
    Optional<MirrorInfo> made = mirroring(volume);
    assertThat(made.orElseThrow().primary()).isTrue();
    replication.enable(id, NONE);
    assertThat(mirroring(volume)).isEqualTo(made);
    assertStatus(
        Code.FAILED_PRECONDITION,
        "SNAPSHOT",
        () -> replication.enable(id, Map.of("mirroringMode", "journal")));
    replication.disable(id, false);
    replication.disable(id, false);
    assertThat(mirroring(volume)).isEmpty();
    replication.enable(id, Map.of("mirroringMode", "journal"));
    assertThat(ceph.rbd("info", spec(volume))).contains("mirroring mode: journal");
    end(volume);
  }

  /** Which a promotion or a demotion leaves that was cut off between librbd's two writes. */
  @Test
  void aPrimaryThatCannotBeWrittenIsPromotedAgain() {
    Volume volume = enabled();
    new ImageContent(ceph).write(spec(volume), 3);
    int content = new ImageContent(ceph).checksum(spec(volume));
    String imageId = ImageId.find(pool, TestDriver.image(volume)).orElseThrow();
    try (WriteOperation write = new WriteOperation()) {
      long mask = ImageFeature.NON_PRIMARY.mask();
      ClassCall.of("rbd", "set_features").u64(mask).u64(mask).addTo(write);
      io.operate(ImageHeader.object(imageId), write);
    }
    assertThat(isPrimary(volume)).isTrue();
    assertThatThrownBy(() -> new ImageContent(ceph).write(spec(volume), 4));
    replication.promote(volume.getVolumeId(), false);
    assertThat(isPrimary(volume)).isTrue();
    assertThat(new ImageContent(ceph).checksum(spec(volume))).isEqualTo(content);
    new ImageContent(ceph).write(spec(volume), 4);
    end(volume);
  }

  @Test
  void thePoolsModeIsNamedWhenItIsInTheWayOfTheEnd() {
    Volume volume = enabled();
    ceph.rbd("mirror", "pool", "enable", ceph.pool(), "pool");
    try {
      assertStatus(
          Code.FAILED_PRECONDITION,
          "is POOL, and must be IMAGE",
          () -> replication.disable(volume.getVolumeId(), false));
    } finally {
      ceph.rbd("mirror", "pool", "enable", ceph.pool(), "image");
    }
    end(volume);
  }

  @Test
  void aPoolThatIsNotMirroredIsNamed() {
    CreateVolumeRequest.Builder request = driver.createRequest(name, SIZE);
    Volume volume = driver.create(request.putParameters("pool", ceph.otherPool()));
    assertStatus(
        Code.FAILED_PRECONDITION,
        "rbd mirror pool enable",
        () -> replication.enable(volume.getVolumeId(), NONE));
    driver.delete(volume.getVolumeId());
  }

  @Test
  void requestsAreChecked() {
    Volume volume = driver.create(name, SIZE);
    String id = volume.getVolumeId();
    String gone = id.substring(0, id.length() - 36) + UUID.randomUUID();
    Map<String, String> wrong = Map.of("schedulingInterval", "often");
    assertStatus(Code.INVALID_ARGUMENT, "volume_id", () -> replication.enable("", NONE));
    assertStatus(Code.NOT_FOUND, () -> replication.enable("no id", NONE));
    assertStatus(Code.NOT_FOUND, () -> replication.enable(gone, NONE));
    assertStatus(Code.NOT_FOUND, () -> replication.disable(gone, true));
    assertStatus(Code.NOT_FOUND, () -> replication.promote(gone, true));
    assertStatus(Code.NOT_FOUND, () -> replication.demote(gone, true));
    assertStatus(Code.NOT_FOUND, () -> replication.resync(gone, true));
    assertStatus(Code.NOT_FOUND, () -> replication.info(gone));
    assertStatus(Code.NOT_FOUND, () -> replication.destination(gone));
    assertStatus(Code.INVALID_ARGUMENT, "often", () -> replication.enable(id, wrong));
    assertStatus(Code.INVALID_ARGUMENT, "often", () -> replication.promote(id, false, wrong));
    TestReplication nobody = replication.as(Map.of());
    assertStatus(Code.UNAUTHENTICATED, () -> nobody.enable(id, NONE));
    TestReplication other = replication.as(Map.of("userID", "admin", "userKey", "bm8ga2V5"));
    assertStatus(Code.UNAUTHENTICATED, () -> other.demote(id, false));
    assertStatus(
        Code.UNAVAILABLE,
        () -> replication.info("0001-000c-nobody-there-0000000000000001-" + UUID.randomUUID()));
    assertThat(mirroring(volume)).isEmpty();
    driver.delete(id);
  }

  @Test
  void aGroupIsNotMirroredAsOne() {
    GetVolumeReplicationInfoRequest request =
        GetVolumeReplicationInfoRequest.newBuilder()
            .setReplicationSource(
                ReplicationSource.newBuilder()
                    .setVolumegroup(
                        ReplicationSource.VolumeGroupSource.newBuilder().setVolumeGroupId("g")))
            .putAllSecrets(driver.secrets())
            .build();
    assertStatus(
        Code.UNIMPLEMENTED,
        "volume groups",
        () -> replication.stub().getVolumeReplicationInfo(request));
  }

  @Test
  @SuppressWarnings("CheckReturnValue")
  void olderCallersSendTheVolumeInTheFirstField() {
    Volume volume = driver.create(name, SIZE);
    EnableVolumeReplicationRequest request =
        EnableVolumeReplicationRequest.newBuilder()
            .putAllSecrets(driver.secrets())
            .setUnknownFields(
                UnknownFieldSet.newBuilder()
                    .addField(
                        1,
                        UnknownFieldSet.Field.newBuilder()
                            .addLengthDelimited(ByteString.copyFromUtf8(volume.getVolumeId()))
                            .build())
                    .build())
            .build();
    replication.stub().enableVolumeReplication(request);
    assertThat(isPrimary(volume)).isTrue();
    assertStatus(
        Code.INVALID_ARGUMENT,
        () ->
            replication
                .stub()
                .enableVolumeReplication(
                    request.toBuilder().setReplicationSource(source("")).build()));
    end(volume);
  }

  @Test
  void aCloneIsFlattenedOrRefused() {
    Volume origin = driver.create(name, SIZE);
    new ImageContent(ceph).write(spec(origin), 5);
    Snapshot snapshot = driver.snapshot(name + "-s", origin.getVolumeId());
    Volume clone = driver.restore(name + "-c", SIZE, snapshot.getSnapshotId());
    String id = clone.getVolumeId();
    int content = new ImageContent(ceph).checksum(spec(clone));
    assertStatus(Code.FAILED_PRECONDITION, "is not mirrored", () -> replication.enable(id, NONE));
    assertThat(mirroring(clone)).isEmpty();
    Map<String, String> flatten = Map.of("flattenMode", "force");
    assertStatus(Code.ABORTED, "being flattened", () -> replication.enable(id, flatten));
    boolean enabled =
        Statuses.untilNotAborted(
            LONGEST,
            () -> {
              replication.enable(id, flatten);
              return true;
            });
    assertThat(enabled).isTrue();
    assertThat(ceph.rbd("info", spec(clone))).doesNotContain("parent:");
    assertThat(new ImageContent(ceph).checksum(spec(clone))).isEqualTo(content);
    end(clone);
    driver.deleteSnapshot(snapshot.getSnapshotId());
    driver.delete(origin.getVolumeId());
  }

  @Test
  void aCloneOfAMirroredParentIsMirroredAndOneOfADeletedParentIsNot() {
    Volume origin = driver.create(name, SIZE);
    Snapshot snapshot = driver.snapshot(name + "-s", origin.getVolumeId());
    Volume clone = driver.restore(name + "-c", SIZE, snapshot.getSnapshotId());
    String parent = ceph.pool() + "/" + TestDriver.image(snapshot);
    ceph.rbd("flatten", parent, "--no-progress");
    ceph.rbd("mirror", "image", "enable", parent, "snapshot");
    replication.enable(clone.getVolumeId(), NONE);
    assertThat(isPrimary(clone)).isTrue();
    assertThat(ceph.rbd("info", spec(clone))).contains("parent:");
    replication.disable(clone.getVolumeId(), false);
    ceph.rbd("mirror", "image", "disable", parent);
    driver.deleteSnapshot(snapshot.getSnapshotId());
    assertStatus(
        Code.FAILED_PRECONDITION, "trash", () -> replication.enable(clone.getVolumeId(), NONE));
    driver.delete(clone.getVolumeId());
    driver.delete(origin.getVolumeId());
  }

  @Test
  void aPrimaryHasTheScheduleOfItsLastPromotion() {
    Volume volume = enabled();
    String id = volume.getVolumeId();
    replication.promote(id, false, Map.of("schedulingInterval", "60m"));
    assertThat(schedules(volume)).isEqualTo("every 1h");
    replication.promote(id, false, Map.of("schedulingInterval", "1h"));
    assertThat(schedules(volume)).isEqualTo("every 1h");
    replication.promote(
        id, true, Map.of("schedulingInterval", "2d", "schedulingStartTime", "14:00:00-05:00"));
    assertThat(schedules(volume)).isEqualTo("every 2d starting at 14:00:00-05:00");
    ceph.rbd("mirror", "snapshot", "schedule", "add", "--pool", ceph.pool(), "3h");
    replication.promote(id, false, NONE);
    replication.promote(id, false, Map.of("schedulingInterval", "5m"));
    assertThat(schedules(volume)).isEqualTo("every 5m");
    assertThat(ceph.rbd("mirror", "snapshot", "schedule", "ls", "--pool", ceph.pool()))
        .contains("every 3h"); // of the pool, not ours
    ceph.rbd("mirror", "snapshot", "schedule", "remove", "--pool", ceph.pool());
    end(volume);
  }

  private static String schedules(Volume volume) {
    return ceph.rbd(
            "mirror",
            "snapshot",
            "schedule",
            "ls",
            "--pool",
            ceph.pool(),
            "--image",
            TestDriver.image(volume))
        .strip();
  }

  @Test
  void whatIsNotMirroredIsNoPrimaryAndNoCopy() {
    Volume volume = driver.create(name, SIZE);
    String id = volume.getVolumeId();
    assertStatus(Code.INVALID_ARGUMENT, () -> replication.promote(id, true)); // else it is forced
    assertStatus(Code.FAILED_PRECONDITION, () -> replication.demote(id, true));
    assertStatus(Code.FAILED_PRECONDITION, () -> replication.resync(id, true));
    assertStatus(Code.FAILED_PRECONDITION, () -> replication.info(id));
    assertStatus(Code.FAILED_PRECONDITION, () -> replication.destination(id));
    driver.delete(id);
  }

  @Test
  void aVolumeInUseIsDemotedByForceOnly() {
    Volume volume = enabled();
    String id = volume.getVolumeId();
    try (RbdImage user = pool.open(TestDriver.image(volume))) {
      user.write(0, new byte[] {1});
      assertStatus(Code.FAILED_PRECONDITION, "in use", () -> replication.demote(id, false));
      assertThat(isPrimary(volume)).isTrue();
      user.write(1, new byte[] {1});
      user.flush();
      replication.demote(id, true);
    }
    assertThat(isPrimary(volume)).isFalse();
    replication.demote(id, false); // again
    assertThat(ceph.rbd("image-meta", "get", spec(volume), ".rbd.image.creation_time"))
        .matches("seconds:\\d+ nanos:\\d+\\s*");
    replication.promote(id, false); // nobody else is the primary
    assertThat(isPrimary(volume)).isTrue();
    assertStatus(Code.NOT_FOUND, () -> replication.info(id)); // never copied
    assertStatus(Code.UNAVAILABLE, () -> replication.destination(id));
    assertStatus(Code.FAILED_PRECONDITION, () -> replication.resync(id, true));
    end(volume);
  }

  /** As of a site that another one was moved to while the daemon there did not run. */
  @Test
  void aPrimaryThatNoPeerHasFollowedIsDemotedByForceOnly() {
    Volume volume = enabled();
    String id = volume.getVolumeId();
    String peer = ceph.rbd("mirror", "pool", "peer", "add", ceph.pool(), "client.x@other").strip();
    try {
      assertStatus(Code.FAILED_PRECONDITION, "has followed", () -> replication.demote(id, false));
      assertThat(isPrimary(volume)).isTrue();
      replication.demote(id, true);
      assertThat(isPrimary(volume)).isFalse();
    } finally {
      ceph.rbd("mirror", "pool", "peer", "remove", ceph.pool(), peer);
    }
    replication.promote(id, false);
    replication.demote(id, false); // there is nobody who could follow
    end(volume);
  }

  @Test
  void aCopyThatFollowsNobodyIsDisabledByForceAndKeepsItsData() {
    Volume volume = driver.create(name, SIZE);
    String id = volume.getVolumeId();
    new ImageContent(ceph).write(spec(volume), 3);
    int content = new ImageContent(ceph).checksum(spec(volume));
    replication.enable(id, NONE);
    replication.demote(id, false);
    assertStatus(Code.FAILED_PRECONDITION, () -> replication.info(id));
    assertStatus(
        Code.UNAVAILABLE, "does not run", () -> replication.resync(id, true)); // nothing is lost
    assertStatus(Code.FAILED_PRECONDITION, "no primary", () -> replication.disable(id, false));
    assertStatus(Code.FAILED_PRECONDITION, () -> driver.delete(id));
    assertThat(isPrimary(volume)).isFalse();
    replication.disable(id, true);
    assertThat(mirroring(volume)).isEmpty();
    assertThat(new ImageContent(ceph).checksum(spec(volume))).isEqualTo(content);
    new ImageContent(ceph).write(spec(volume), 4); // it can be written again
    driver.delete(id);
  }

  /** What a call that was interrupted leaves, or the daemon of a site while it makes an image. */
  @ParameterizedTest
  @CsvSource({"0, DISABLING", "3, CREATING"})
  void mirroringThatBeginsOrEndsIsWaitedFor(int number, MirrorInfo.State state) {
    Volume volume = enabled();
    String id = volume.getVolumeId();
    String globalId = mirroring(volume).orElseThrow().globalId();
    set(volume, globalId, number);
    assertThat(mirroring(volume).orElseThrow().state()).isEqualTo(state);
    for (org.assertj.core.api.ThrowableAssert.ThrowingCallable call :
        List.<org.assertj.core.api.ThrowableAssert.ThrowingCallable>of(
            () -> replication.enable(id, NONE),
            () -> replication.promote(id, true),
            () -> replication.demote(id, true),
            () -> replication.resync(id, true),
            () -> replication.info(id))) {
      assertStatus(Code.ABORTED, call);
    }
    if (state == MirrorInfo.State.CREATING) {
      assertStatus(Code.ABORTED, () -> replication.disable(id, true));
      set(volume, globalId, 1);
    }
    replication.disable(id, false); // ends what was interrupted
    assertThat(mirroring(volume)).isEmpty();
    driver.delete(id);
  }

  private static void set(Volume volume, String globalId, int state) {
    String imageId = ImageId.find(pool, TestDriver.image(volume)).orElseThrow();
    try (WriteOperation write = new WriteOperation()) {
      ClassCall.of("rbd", "mirror_image_set")
          .string(imageId)
          .structure(2, 1, ClassCall.content().string(globalId).u8(state).u8(1))
          .addTo(write);
      io.operate("rbd_mirroring", write);
    }
  }
}
