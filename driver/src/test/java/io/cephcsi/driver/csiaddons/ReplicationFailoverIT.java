package io.cephcsi.driver.csiaddons;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.MirrorSite;
import io.cephcsi.bindings.rbd.MirrorStatus;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.testing.FileSystemImage;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.testing.TestGroups;
import io.cephcsi.driver.testing.TestReplication;
import io.cephcsi.driver.volume.Json;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceRequest;
import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceResponse;
import io.cephcsi.proto.addons.replication.GetVolumeReplicationInfoResponse;
import io.cephcsi.proto.addons.replication.GetVolumeReplicationInfoResponse.Status;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.MirroredClusters;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;

/** Volumes that go from one site to the other and back, each with a driver of its own. */
@EnabledIf("io.cephcsi.testing.TestCluster#canControl")
class ReplicationFailoverIT {
  private static final long SIZE = 16L << 20;
  private static final Duration LONGEST = Duration.ofMinutes(3);

  private static MirroredClusters clusters;
  private static Site first;
  private static Site second;

  private final String name = "volume-" + UUID.randomUUID();

  /** A cluster and its driver. */
  private record Site(
      TestCluster ceph,
      TestDriver driver,
      TestReplication replication,
      RadosCluster cluster,
      IoContext io) {
    static Site of(TestCluster ceph) {
      TestDriver driver = TestDriver.rbd(ceph).start();
      RadosCluster cluster = ceph.connect();
      return new Site(
          ceph, driver, TestReplication.of(driver), cluster, cluster.openPool(ceph.pool()));
    }

    RbdPool pool() {
      return new RbdPool(io);
    }

    void write(String image, int block) {
      try (RbdImage open = pool().open(image)) {
        open.write(block * 4096L, new byte[] {(byte) (block + 1)});
        open.flush();
      }
    }

    /** How many of the blocks that were written one after the other are there. */
    int blocks(String image) {
      try (RbdImage open = pool().openReadOnly(image)) {
        int count = 0;
        while (open.read(count * 4096L, 1)[0] == (byte) (count + 1)) {
          count++;
        }
        return count;
      }
    }

    void takeMirrorSnapshot(String image) {
      try (RbdImage open = pool().open(image)) {
        assertThat(open.mirror().createSnapshot()).isPositive();
      }
    }

    MirrorStatus status(String image) {
      try (RbdImage open = pool().openReadOnly(image)) {
        return open.mirror().status();
      }
    }

    String imageId(String image) {
      return ImageId.find(pool(), image).orElse("");
    }

    Omaps journal() {
      return new Omaps(ceph, ceph.pool(), "");
    }

    void close() {
      driver.close();
      io.close();
      cluster.close();
    }
  }

  @BeforeAll
  static void start() {
    clusters = MirroredClusters.start("failover");
    first = Site.of(clusters.first());
    second = Site.of(clusters.second());
  }

  @AfterAll
  static void stop() {
    first.close();
    second.close();
    clusters.close();
  }

  @BeforeEach
  void joinAgain() {
    clusters.join();
  }

  private static void soon(Callable<Boolean> condition) {
    await()
        .atMost(LONGEST)
        .pollInterval(Duration.ofMillis(500))
        .ignoreExceptionsInstanceOf(io.cephcsi.bindings.error.CephException.NotFound.class)
        .until(condition);
  }

  /** Repeats a call until it succeeds; all that it fails with before. */
  private static List<Code> repeat(BooleanSupplier call) {
    List<Code> codes = new ArrayList<>();
    soon(
        () -> {
          try {
            return call.getAsBoolean();
          } catch (StatusRuntimeException e) {
            codes.add(e.getStatus().getCode());
            return false;
          }
        });
    return codes;
  }

  private static Code codeOf(Runnable call) {
    try {
      call.run();
      return Code.OK;
    } catch (StatusRuntimeException e) {
      return e.getStatus().getCode();
    }
  }

  private static List<Code> repeat(Runnable call) {
    return repeat(
        () -> {
          call.run();
          return true;
        });
  }

  private static void awaitLocal(Site site, String image, Predicate<MirrorSite> state) {
    soon(() -> site.status(image).local().filter(state).isPresent());
  }

  private static boolean replays(MirrorSite site) {
    return site.isUp(MirrorSite.State.REPLAYING);
  }

  private static String entry(Volume volume) {
    return "csi.volume." + VolumeId.parse(volume.getVolumeId()).orElseThrow().uuid();
  }

  private Volume mirrored() {
    Volume volume = first.driver().create(name, SIZE);
    first.replication().enable(volume.getVolumeId(), Map.of());
    awaitLocal(second, TestDriver.image(volume), ReplicationFailoverIT::replays);
    return volume;
  }

  @Test
  void aPlannedFailoverAndItsWayBackLoseNothing() {
    Volume volume = mirrored();
    String id = volume.getVolumeId();
    String image = TestDriver.image(volume);
    for (int block = 0; block < 3; block++) {
      first.write(image, block);
    }
    Instant before = Instant.now();
    first.takeMirrorSnapshot(image);
    List<Code> codes =
        repeat(
            () -> {
              GetVolumeReplicationInfoResponse info = first.replication().info(id);
              assertThat(info.getStatus()).isEqualTo(Status.HEALTHY);
              return info.getLastSyncTime().getSeconds() >= before.getEpochSecond() - 1;
            });
    assertThat(codes).allMatch(Code.NOT_FOUND::equals);
    assertThat(first.replication().destination(id)).isEqualTo(id);
    assertThat(second.journal().objects()).doesNotContain(entry(volume));
    assertStatus(Code.FAILED_PRECONDITION, () -> second.replication().info(id));
    assertThat(second.journal().of(entry(volume))) // made from the image
        .containsEntry("csi.volname", name)
        .containsEntry("csi.imagename", image)
        .containsEntry("csi.imageid", second.imageId(image));
    assertStatus( // as that might have been demoted just now
        Code.ABORTED, "has the primary", () -> second.replication().promote(id, false));
    second.replication().disable(id, false); // left to its daemon
    assertThat(second.status(image).info()).isPresent();
    assertThat(second.replication().resync(id, true)).isFalse(); // it follows: nothing is copied
    String copy = second.imageId(image);

    first.write(image, 3);
    first.replication().demote(id, false);
    // Never FAILED_PRECONDITION, at which the promotion would be forced, and the last block lost.
    assertThat(repeat(() -> second.replication().promote(id, false)))
        .allMatch(Code.ABORTED::equals);
    assertThat(second.blocks(image)).isEqualTo(4);
    assertThat(second.imageId(image)).isEqualTo(copy);
    second.write(image, 4);
    TestGroups groups = new TestGroups(second.ceph(), second.driver());
    String group = groups.create("group-" + name, id).getVolumeGroupId();

    awaitLocal(first, image, ReplicationFailoverIT::replays);
    assertThat(repeat(() -> second.replication().demote(id, false))) // it is told there later
        .allMatch(Code.FAILED_PRECONDITION::equals);
    assertThat(repeat(() -> first.replication().resync(id, false))).allMatch(Code.ABORTED::equals);
    assertThat(first.replication().resync(id, true)).isTrue();
    assertThat(repeat(() -> first.replication().promote(id, false))).allMatch(Code.ABORTED::equals);
    assertThat(first.blocks(image)).isEqualTo(5);

    awaitLocal(second, image, ReplicationFailoverIT::replays);
    groups.delete(group); // only the entries: the image goes with its primary
    assertThat(second.ceph().rbd("group", "ls", second.ceph().pool())).isBlank();
    assertThat(second.journal().objects()).doesNotContain(entry(volume));
    assertThat(second.replication().resync(id, true)).isFalse(); // makes the entry again
    second.driver().delete(id);
    assertThat(second.journal().objects()).doesNotContain(entry(volume));
    assertThat(second.imageId(image)).isEqualTo(copy);
    first.replication().disable(id, false);
    soon(() -> second.imageId(image).isEmpty());
    assertThat(first.blocks(image)).isEqualTo(5);
    first.driver().delete(id);
  }

  @Test
  void anUnplannedFailoverLosesWhatWasNotCopiedAndOnlyForceThrowsItAway() {
    Volume volume = mirrored();
    String id = volume.getVolumeId();
    String image = TestDriver.image(volume);
    first.write(image, 0);
    first.write(image, 1);
    first.takeMirrorSnapshot(image);
    soon(() -> second.blocks(image) == 2);
    awaitLocal(second, image, site -> site.description().contains("local_snapshot_timestamp"));
    clusters.cut();
    soon(() -> first.status(image).remote().stream().noneMatch(MirrorSite::up));
    soon(() -> second.status(image).sites().stream().noneMatch(MirrorSite::up));
    assertThat(first.replication().info(id).getStatus()).isEqualTo(Status.DEGRADED);
    first.write(image, 2); // never copied
    // That might have been demoted before, and a daemon here be started in a moment.
    assertStatus(Code.ABORTED, "does not run", () -> second.replication().promote(id, false));
    soon(() -> codeOf(() -> second.replication().promote(id, false)) != Code.ABORTED);
    assertStatus(Code.FAILED_PRECONDITION, () -> second.replication().promote(id, false));
    second.replication().promote(id, true);
    second.replication().promote(id, true);
    assertThat(second.blocks(image)).isEqualTo(2);
    second.write(image, 2);
    second.write(image, 3);
    second.takeMirrorSnapshot(image);

    assertStatus(
        Code.FAILED_PRECONDITION, "has followed", () -> first.replication().demote(id, false));
    first.replication().demote(id, true);
    String lost = first.imageId(image);
    assertStatus(Code.UNAVAILABLE, "does not run", () -> first.replication().resync(id, true));
    clusters.join();
    awaitLocal(first, image, site -> site.isUp(MirrorSite.State.ERROR));
    assertStatus(
        Code.FAILED_PRECONDITION, "split brain", () -> first.replication().resync(id, false));
    assertThat(first.imageId(image)).isEqualTo(lost);
    assertThat(first.blocks(image)).isEqualTo(3);
    soon(
        () ->
            second.status(image).remote().stream()
                .anyMatch(site -> site.isUp(MirrorSite.State.ERROR)));
    assertStatus(
        Code.FAILED_PRECONDITION, "resync it first", () -> second.replication().demote(id, false));
    assertThat(repeat(() -> !first.replication().resync(id, true)))
        .isNotEmpty()
        .isSubsetOf(Code.UNAVAILABLE, Code.ABORTED);
    soon(() -> first.blocks(image) == 4);
    String anew = first.imageId(image);
    assertThat(anew).isNotEqualTo(lost);
    // Else another split brain could not be resynced before a demotion.
    assertThat(first.journal().of(entry(volume))).containsEntry("csi.imageid", anew);

    awaitLocal(first, image, ReplicationFailoverIT::replays);
    assertThat(repeat(() -> second.replication().demote(id, false))) // it is told there later
        .allMatch(Code.FAILED_PRECONDITION::equals);
    assertThat(repeat(() -> first.replication().resync(id, true)))
        .isSubsetOf(Code.UNAVAILABLE, Code.ABORTED);
    assertThat(first.imageId(image)).isEqualTo(anew); // once is enough
    assertThat(first.journal().of(entry(volume))).containsEntry("csi.imageid", anew);
    assertThat(repeat(() -> first.replication().promote(id, false))).allMatch(Code.ABORTED::equals);
    assertThat(first.blocks(image)).isEqualTo(4);
    awaitLocal(second, image, ReplicationFailoverIT::replays);
    first.replication().disable(id, false);
    soon(() -> second.imageId(image).isEmpty());
    first.driver().delete(id);
    second.driver().delete(id);
    assertThat(Optional.of(first.imageId(image))).contains("");
  }

  /** How many bytes clients have sent to the OSDs of a site. */
  private static long sentTo(Site site) {
    try {
      return Json.mapper()
          .readTree(site.ceph().ceph("tell", "osd.0", "perf", "dump", "osd", "op_in_bytes"))
          .path("osd")
          .path("op_in_bytes")
          .longValue();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Waits until the copy has what a new snapshot of the primary has. */
  private static void copy(String id, String image) {
    long before = Instant.now().getEpochSecond();
    first.takeMirrorSnapshot(image);
    assertThat(
            repeat(() -> first.replication().info(id).getLastSyncTime().getSeconds() >= before - 1))
        .allMatch(Code.NOT_FOUND::equals);
    awaitLocal(second, image, site -> site.description().contains("\"idle\""));
  }

  @Test
  void aTrimOfThePrimaryIsMirroredAndMovesNoData(@TempDir Path folder) {
    long size = 128L << 20;
    Volume volume = first.driver().create(name, size);
    String id = volume.getVolumeId();
    String image = TestDriver.image(volume);
    FileSystemImage content = FileSystemImage.make(folder, "ext4", size);
    content.mounted(
        "head -c 20M /dev/urandom > kept; head -c 64M /dev/urandom > gone; sync -f .; rm gone");
    try (RbdImage open = first.pool().open(image)) {
      content.writeTo(open);
    }
    long begun = sentTo(second);
    first.replication().enable(id, Map.of());
    awaitLocal(second, image, ReplicationFailoverIT::replays);
    copy(id, image);
    long copied = sentTo(second) - begun;

    ControllerReclaimSpaceRequest reclaim =
        ControllerReclaimSpaceRequest.newBuilder()
            .setVolumeId(id)
            .putAllSecrets(first.driver().secrets())
            .build();
    ControllerReclaimSpaceResponse answer =
        first.driver().reclaim().controllerReclaimSpace(reclaim);
    long freed = answer.getPreUsage().getUsageBytes() - answer.getPostUsage().getUsageBytes();
    assertThat(freed).isGreaterThan(48 << 20);
    assertThat(copied).isGreaterThan(freed);
    begun = sentTo(second);
    copy(id, image);
    long moved = sentTo(second) - begun;
    System.out.printf("copied %d, freed %d, then moved %d bytes%n", copied, freed, moved);
    assertThat(moved).isLessThan(freed / 10);

    String checksums = content.checksums();
    try (RbdImage open = second.pool().openReadOnly(image)) {
      content.readFrom(open);
    }
    content.check();
    assertThat(content.checksums()).isEqualTo(checksums);
    first.replication().disable(id, false);
    soon(() -> second.imageId(image).isEmpty());
    first.driver().delete(id);
  }
}
