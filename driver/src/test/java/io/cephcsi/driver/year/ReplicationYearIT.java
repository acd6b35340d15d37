package io.cephcsi.driver.year;

import static io.cephcsi.driver.testing.TestDriver.singleWriter;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.driver.app.DriverConfig;
import io.cephcsi.driver.testing.MirrorNetwork;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.testing.TestReplication;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceRequest;
import io.cephcsi.proto.addons.reclaimspace.ReclaimSpaceControllerGrpc;
import io.cephcsi.proto.csi.v1.CapacityRange;
import io.cephcsi.proto.csi.v1.ControllerExpandVolumeRequest;
import io.cephcsi.proto.csi.v1.CreateSnapshotRequest;
import io.cephcsi.proto.csi.v1.CreateVolumeGroupSnapshotRequest;
import io.cephcsi.proto.csi.v1.CreateVolumeRequest;
import io.cephcsi.proto.csi.v1.DeleteSnapshotRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeGroupSnapshotRequest;
import io.cephcsi.proto.csi.v1.DeleteVolumeRequest;
import io.cephcsi.proto.csi.v1.GroupControllerGrpc;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeContentSource;
import io.cephcsi.proto.csi.v1.VolumeGroupSnapshot;
import io.cephcsi.testing.MirroredClusters;
import io.cephcsi.testing.Tries;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/**
 * A year of an operator with two clusters that mirror to each other, and 50 interruptions in it. A
 * writer numbers its blocks and says on which site it wrote them: so is seen what a failover lost,
 * and that no side was written by both. Each call is repeated as a CO does until it succeeds.
 * {@code CEPH_CSI_TEST_SEED} repeats the interruptions, {@code CEPH_CSI_TEST_DISTURBANCES} says how
 * many there are.
 */
@EnabledIf("io.cephcsi.testing.TestCluster#canControl")
@EnabledIfEnvironmentVariable(
    named = "CEPH_CSI_TEST_CAMPAIGN",
    matches = "full",
    disabledReason = "takes half an hour: ci/test --all runs it")
class ReplicationYearIT {
  private static final long MIB = 1L << 20;
  private static final Duration PATIENCE = Duration.ofMinutes(4);

  /** What a CO repeats a call after. */
  private static final Set<Code> REPEATED =
      EnumSet.of(
          Code.ABORTED,
          Code.UNAVAILABLE,
          Code.DEADLINE_EXCEEDED,
          Code.RESOURCE_EXHAUSTED,
          Code.INTERNAL,
          Code.UNKNOWN);

  private final Map<Code, Integer> repeated = new EnumMap<>(Code.class);
  private final List<Site> sites = new ArrayList<>();
  private Disturbances disturbances;
  private Map<String, String> secrets;
  private int names;

  private static int count() {
    String given = System.getenv("CEPH_CSI_TEST_DISTURBANCES");
    return given == null ? 50 : Integer.parseInt(given);
  }

  private record Call<T>(Supplier<T> work, Set<Code> also) {}

  @Test
  void nothingIsLostButWhatAnUnplannedFailoverMayLose() {
    Tries.times(1, values -> year(values.number()));
  }

  private void year(long seed) throws Exception {
    try (MirrorNetwork network = MirrorNetwork.start("year");
        Site first = new Site(network.clusters().first(), 0);
        Site second = new Site(network.clusters().second(), 1)) {
      sites.add(first);
      sites.add(second);
      secrets = TestDriver.secrets(network.clusters().first(), DriverConfig.Type.RBD);
      try (Disturbances all =
          new Disturbances(network, List.of(first.seat(), second.seat()), count(), seed)) {
        disturbances = all;
        int years = 0;
        while (years == 0 || disturbances.left() > 0) {
          months(network.clusters());
          years++;
          System.out.println(years + " years, " + disturbances + ", repeated after " + repeated);
        }
      }
    }
  }

  private void months(MirroredClusters clusters) throws InterruptedException {
    Protected one = provision(sites.get(0));
    Protected two = provision(sites.get(1));
    write(one, 5);
    copyAndDelete(one);
    expand(two);
    planned(one, sites.get(1));
    write(one, 3);
    groupSnapshot(one, two);
    reclaim(one);
    planned(two, sites.get(0));
    copyAndDelete(two);
    unplanned(clusters, one, sites.get(0));
    write(one, 4);
    expand(one);
    planned(one, sites.get(1));
    copyAndDelete(one);
    planned(one, sites.get(0));
    reclaim(two);
    delete(one);
    delete(two);
    disturbances.rest();
    for (Site site : sites) {
      site.awaitEmpty();
    }
  }

  // Calls

  private <T> T repeat(String what, Call<T> call) {
    Instant end = Instant.now().plus(PATIENCE);
    while (true) {
      disturbances.perhaps();
      try {
        return call.work().get();
      } catch (StatusRuntimeException e) {
        Code code = e.getStatus().getCode();
        boolean again = REPEATED.contains(code) || call.also().contains(code);
        if (!again || Instant.now().isAfter(end)) {
          throw new AssertionError(what + ": " + e.getStatus(), e);
        }
        repeated.merge(code, 1, Integer::sum);
      }
      pause();
    }
  }

  private <T> T call(String what, Supplier<T> work) {
    return repeat(what, new Call<>(work, Set.of()));
  }

  private void run(String what, Runnable work) {
    call(
        what,
        () -> {
          work.run();
          return true;
        });
  }

  private static void pause() {
    try {
      Thread.sleep(500);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static void soon(String what, java.util.concurrent.Callable<Boolean> condition) {
    Awaitility.await(what)
        .atMost(PATIENCE)
        .pollInterval(Duration.ofMillis(500))
        .ignoreExceptionsInstanceOf(CephException.class)
        .until(condition);
  }

  private String name() {
    return "year-" + names++;
  }

  private Volume create(Site at, long bytes, VolumeContentSource source) {
    CreateVolumeRequest.Builder request =
        CreateVolumeRequest.newBuilder()
            .setName(name())
            .setCapacityRange(CapacityRange.newBuilder().setRequiredBytes(bytes))
            .addVolumeCapabilities(singleWriter())
            .putAllParameters(Map.of("clusterID", TestDriver.CLUSTER_ID, "pool", "rbd"))
            .putAllSecrets(secrets(at));
    if (source.getTypeCase() != VolumeContentSource.TypeCase.TYPE_NOT_SET) {
      request.setVolumeContentSource(source);
    }
    return call("CreateVolume", () -> at.controller().createVolume(request.build()).getVolume());
  }

  private Map<String, String> secrets(Site at) {
    return at.number() == 0 ? secrets : TestDriver.secrets(at.ceph(), DriverConfig.Type.RBD);
  }

  private TestReplication replication(Site at) {
    return at.replication(secrets(at));
  }

  private Protected provision(Site at) {
    Volume volume = create(at, 16 * MIB, VolumeContentSource.getDefaultInstance());
    Protected made = new Protected(volume, at, 16 * MIB);
    write(made, 2);
    run("Enable", () -> replication(at).enable(made.id(), Map.of()));
    run("Promote", () -> replication(at).promote(made.id(), false, Map.of()));
    Site other = other(at);
    soon("the first copy", () -> other.replays(made.image()));
    return made;
  }

  private Site other(Site site) {
    return sites.get(1 - site.number());
  }

  private static void write(Protected volume, int blocks) {
    for (int i = 0; i < blocks; i++) {
      soon(
          "a write",
          () -> {
            volume.active().write(volume.image(), volume.writers().size());
            return true;
          });
      volume.writers().add(volume.active().number());
    }
  }

  /** What is on a site is what was written, in this order, by the site that was active. */
  private static void hasAll(Protected volume, Site on) {
    assertThat(on.writers(volume.image(), volume.size())).isEqualTo(volume.writers());
  }

  private void copyAndDelete(Protected volume) {
    Site at = volume.active();
    String name = name();
    Snapshot snapshot =
        call(
            "CreateSnapshot",
            () ->
                at.controller()
                    .createSnapshot(
                        CreateSnapshotRequest.newBuilder()
                            .setName(name)
                            .setSourceVolumeId(volume.id())
                            .putParameters("clusterID", TestDriver.CLUSTER_ID)
                            .putAllSecrets(secrets(at))
                            .build())
                    .getSnapshot());
    Volume copy =
        create(
            at,
            volume.size(),
            VolumeContentSource.newBuilder()
                .setSnapshot(
                    VolumeContentSource.SnapshotSource.newBuilder()
                        .setSnapshotId(snapshot.getSnapshotId()))
                .build());
    assertThat(at.writers(TestDriver.image(copy), volume.size())).isEqualTo(volume.writers());
    delete(at, copy.getVolumeId());
    run(
        "DeleteSnapshot",
        () ->
            at.controller()
                .deleteSnapshot(
                    DeleteSnapshotRequest.newBuilder()
                        .setSnapshotId(snapshot.getSnapshotId())
                        .putAllSecrets(secrets(at))
                        .build()));
  }

  private void delete(Site at, String id) {
    run(
        "DeleteVolume",
        () ->
            at.controller()
                .deleteVolume(
                    DeleteVolumeRequest.newBuilder()
                        .setVolumeId(id)
                        .putAllSecrets(secrets(at))
                        .build()));
  }

  private void expand(Protected volume) {
    Site at = volume.active();
    long bytes = volume.size() + 4 * MIB;
    assertThat(
            call(
                "ControllerExpandVolume",
                () ->
                    at.controller()
                        .controllerExpandVolume(
                            ControllerExpandVolumeRequest.newBuilder()
                                .setVolumeId(volume.id())
                                .setCapacityRange(
                                    CapacityRange.newBuilder().setRequiredBytes(bytes))
                                .putAllSecrets(secrets(at))
                                .build())
                        .getCapacityBytes()))
        .isEqualTo(bytes);
    volume.grown(bytes);
  }

  /** Of volumes that are active on the same site; of two sites each has its own. */
  private void groupSnapshot(Protected... volumes) {
    Site at = volumes[0].active();
    CreateVolumeGroupSnapshotRequest.Builder request =
        CreateVolumeGroupSnapshotRequest.newBuilder()
            .setName(name())
            .putParameters("clusterID", TestDriver.CLUSTER_ID)
            .putAllSecrets(secrets(at));
    for (Protected volume : volumes) {
      if (volume.active() == at) {
        request.addSourceVolumeIds(volume.id());
      }
    }
    VolumeGroupSnapshot taken =
        call(
            "CreateVolumeGroupSnapshot",
            () ->
                GroupControllerGrpc.newBlockingStub(at.seat().channel())
                    .createVolumeGroupSnapshot(request.build())
                    .getGroupSnapshot());
    run(
        "DeleteVolumeGroupSnapshot",
        () ->
            GroupControllerGrpc.newBlockingStub(at.seat().channel())
                .deleteVolumeGroupSnapshot(
                    DeleteVolumeGroupSnapshotRequest.newBuilder()
                        .setGroupSnapshotId(taken.getGroupSnapshotId())
                        .addAllSnapshotIds(
                            taken.getSnapshotsList().stream().map(Snapshot::getSnapshotId).toList())
                        .putAllSecrets(secrets(at))
                        .build()));
  }

  private void reclaim(Protected volume) {
    Site at = volume.active();
    repeat(
        "ControllerReclaimSpace",
        new Call<>(
            () ->
                ReclaimSpaceControllerGrpc.newBlockingStub(at.seat().channel())
                    .controllerReclaimSpace(
                        ControllerReclaimSpaceRequest.newBuilder()
                            .setVolumeId(volume.id())
                            .putAllSecrets(secrets(at))
                            .build()),
            Set.of(Code.FAILED_PRECONDITION))); // as long as the other site copies
    hasAll(volume, at);
  }

  // Failovers

  /**
   * The manager forces a promotion that is FAILED_PRECONDITION, and would lose the last block: so
   * the driver must not say that while the other site is demoted and its last blocks are on their
   * way.
   */
  private void planned(Protected volume, Site to) throws InterruptedException {
    Site from = volume.active();
    write(volume, 1);
    disturbances.mayCut(false);
    disturbances.rest();
    // Daemons that were just started: without them the promotion would be FAILED_PRECONDITION.
    soon("the daemons", () -> to.replays(volume.image()) && from.isFollowed(volume.image()));
    boolean demoted =
        repeat(
            "Demote",
            new Call<>(
                () -> {
                  replication(from).demote(volume.id(), false);
                  return true;
                },
                Set.of(Code.FAILED_PRECONDITION))); // until the other site's daemon follows
    assertThat(demoted).isTrue();
    assertThatThrownBy(() -> from.write(volume.image(), volume.writers().size()))
        .isInstanceOf(CephException.class);
    run("Promote", () -> replication(to).promote(volume.id(), false));
    disturbances.mayCut(true);
    volume.moved(to);
    hasAll(volume, to);
    write(volume, 1);
    follow(volume, from, false);
  }

  /** The site that was cut off is written to once more; what the other one has not got is lost. */
  private void unplanned(MirroredClusters clusters, Protected volume, Site to)
      throws InterruptedException {
    Site from = volume.active();
    Instant before = Instant.now();
    soon(
        "a mirror snapshot",
        () -> {
          from.takeMirrorSnapshot(volume.image());
          return true;
        });
    int copied = volume.writers().size();
    boolean there =
        repeat(
            "GetVolumeReplicationInfo",
            new Call<>(
                () -> {
                  if (replication(from).info(volume.id()).getLastSyncTime().getSeconds()
                      < before.getEpochSecond() - 1) {
                    throw io.grpc.Status.UNAVAILABLE.asRuntimeException();
                  }
                  return true;
                },
                Set.of(Code.NOT_FOUND)));
    assertThat(there).isTrue();
    disturbances.mayCut(false);
    disturbances.rest();
    soon("the other site's word", () -> from.isFollowed(volume.image()));
    clusters.cut();
    write(volume, 2);
    List<Integer> lost = List.copyOf(volume.writers());
    run("forced Promote", () -> replication(to).promote(volume.id(), true));
    volume.moved(to);
    List<Integer> found = to.writers(volume.image(), volume.size());
    assertThat(found).hasSizeBetween(copied, lost.size());
    assertThat(found).isEqualTo(lost.subList(0, found.size()));
    volume.writers().clear();
    volume.writers().addAll(found);
    write(volume, 3);
    assertThat(from.writers(volume.image(), volume.size())).as("the old side").isEqualTo(lost);
    run("Demote of the old side", () -> replication(from).demote(volume.id(), true));
    clusters.join();
    disturbances.mayCut(true);
    follow(volume, from, true);
  }

  /** As the manager has a secondary follow: demote again, and resync until that is ready. */
  private void follow(Protected volume, Site secondary, boolean force) {
    run("Demote", () -> replication(secondary).demote(volume.id(), false));
    soon("the mirroring", () -> force || secondary.replays(volume.image()));
    if (force) {
      repeat(
          "Resync",
          new Call<>(
              () -> {
                if (!replication(secondary).resync(volume.id(), true)
                    && !secondary.replays(volume.image())) {
                  throw io.grpc.Status.UNAVAILABLE.asRuntimeException();
                }
                return true;
              },
              Set.of()));
    }
    Site active = volume.active();
    soon(
        "a mirror snapshot",
        () -> {
          active.takeMirrorSnapshot(volume.image());
          return true;
        });
    soon(
        "all on the other side",
        () -> secondary.writers(volume.image(), volume.size()).equals(volume.writers()));
    assertThatThrownBy(() -> secondary.write(volume.image(), volume.writers().size()))
        .as("a side that follows cannot be written to")
        .isInstanceOf(CephException.class);
  }

  private void delete(Protected volume) {
    Site at = volume.active();
    hasAll(volume, at);
    run("Disable", () -> replication(at).disable(volume.id(), false));
    soon("the other side's end", () -> !other(at).has(volume.image()));
    delete(at, volume.id());
    delete(other(at), volume.id());
  }

  /** A volume that is mirrored. */
  private static final class Protected {
    private final Volume volume;
    private final List<Integer> writers = new ArrayList<>();
    private Site active;
    private long size;

    Protected(Volume volume, Site active, long size) {
      this.volume = volume;
      this.active = active;
      this.size = size;
    }

    String id() {
      return volume.getVolumeId();
    }

    String image() {
      return "csi-vol-" + VolumeId.parse(id()).orElseThrow().uuid();
    }

    /** The number of the site that wrote each block. */
    List<Integer> writers() {
      return writers;
    }

    Site active() {
      return active;
    }

    void moved(Site to) {
      active = to;
    }

    long size() {
      return size;
    }

    void grown(long bytes) {
      size = bytes;
    }
  }
}
