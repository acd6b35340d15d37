package io.cephcsi.driver.cephfs;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.operation.OperationRegistry;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.tracker.Trackers;
import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.ContentSource;
import io.cephcsi.driver.volume.CreatedSnapshot;
import io.cephcsi.driver.volume.CreatedVolume;
import io.cephcsi.driver.volume.VolumeId;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the manager is not asked, as it does one command after the other. */
class FewCommandsIT extends ManagerCase {
  private final OperationRegistry operations = new OperationRegistry(Duration.ofSeconds(30));
  private final AtomicLong now = new AtomicLong();
  private final KnownSubvolumes known = new KnownSubvolumes(now::get);
  private final List<String> sent = new CopyOnWriteArrayList<>();
  private final String name = "pvc-" + UUID.randomUUID();
  private Volume source = Volume.getDefaultInstance();
  private Snapshot snapshot = Snapshot.getDefaultInstance();

  @BeforeEach
  void makeSource() {
    source = driver.create(name + "-source", 16 * MIB);
    snapshot = driver.snapshot(name + "-source", source.getVolumeId());
  }

  @AfterEach
  void deleteSource() {
    driver.deleteSnapshot(snapshot.getSnapshotId());
    driver.delete(source.getVolumeId());
    assertThat(STATE.leftovers()).isEmpty();
  }

  private OpenFileSystem counting(Lease lease) {
    return open(
        lease,
        command -> {
          String json = command.toString();
          sent.add(json.replaceAll(".*\"prefix\" *: *\"([^\"]*)\".*", "$1"));
          return command.toManager(lease.cluster()).text();
        });
  }

  private CreatedVolume make(String volume, Optional<ContentSource> content, boolean onlyRead) {
    return make(volume, CapacityRange.ANY, content, onlyRead);
  }

  private CreatedVolume make(
      String volume, CapacityRange capacity, Optional<ContentSource> content, boolean onlyRead) {
    try (Lease lease = lease();
        SnapshotPaths paths = new SnapshotPaths()) {
      CephFsRequest request =
          new CephFsRequest(
              volume,
              CephFsParameters.parse(driver.parameters()),
              capacity,
              content,
              onlyRead,
              Optional.empty());
      return new CephFsVolumeCreation(
              counting(lease), request, paths, known, new Trackers(), operations, CopyWait.NONE)
          .make();
    }
  }

  private CreatedSnapshot take(Path folder) throws IOException {
    VolumeId id = VolumeId.parse(source.getVolumeId()).orElseThrow();
    ClusterDirectory clusters = new ClusterDirectory(TestDriver.clustersFile(CLUSTER, folder));
    try (Lease lease = lease();
        CephFsVolumes volumes =
            new CephFsVolumes(clusters, connections, operations, "default", NO_KMS)) {
      OpenFileSystem files = counting(lease);
      OpenVolume open = new OpenVolume(id, files, files.volumes().byUuid(id.uuid()).orElseThrow());
      return new CephFsSnapshots(volumes, operations).create(name, open, "csi-snap-");
    }
  }

  @Test
  void aNewVolumeIsMadeByTwoCommandsAndGivenAgainByNone() {
    CreatedVolume made = make(name, Optional.empty(), false);
    assertThat(new LinkedHashSet<>(sent))
        .containsExactlyInAnyOrder("fs subvolume create", "fs subvolume getpath");
    sent.clear();
    assertThat(make(name, Optional.empty(), false)).isEqualTo(made);
    assertThat(sent).isEmpty();
    driver.delete(made.id().toString());
  }

  @Test
  void aVolumeThatWasMadeSomeTimeAgoIsAskedFor() {
    CreatedVolume made = make(name, Optional.empty(), false);
    sent.clear();
    now.addAndGet(TimeUnit.SECONDS.toNanos(11));
    assertThat(make(name, Optional.empty(), false)).isEqualTo(made);
    assertThat(sent).containsExactly("fs subvolume info");
    sent.clear();
    assertThat(make(name, Optional.empty(), false)).isEqualTo(made);
    assertThat(sent).isEmpty();
    driver.delete(made.id().toString());
  }

  /** Another driver has raised its quota since. */
  @Test
  void aVolumeIsAskedForBeforeItIsTakenForTooSmall() {
    CreatedVolume made = make(name, new CapacityRange(16 * MIB, 0), Optional.empty(), false);
    driver.expand(made.id().toString(), 32 * MIB);
    sent.clear();
    assertThat(make(name, new CapacityRange(32 * MIB, 0), Optional.empty(), false).size())
        .isEqualTo(32 * MIB);
    assertThat(sent).containsExactly("fs subvolume info");
    driver.delete(made.id().toString());
  }

  /** Its uuid is not used again, so nothing that is remembered leads to it. */
  @Test
  void aVolumeThatWasDeletedIsMadeAnew() {
    CreatedVolume made = make(name, Optional.empty(), false);
    driver.delete(made.id().toString());
    CreatedVolume next = make(name, Optional.empty(), false);
    assertThat(next.id()).isNotEqualTo(made.id());
    driver.delete(next.id().toString());
  }

  @Test
  void aShallowVolumeNeedsOneCommand() {
    VolumeId shown = VolumeId.parse(snapshot.getSnapshotId()).orElseThrow();
    Optional<ContentSource> content = Optional.of(new ContentSource.OfSnapshot(shown));
    CreatedVolume made = make(name, content, true);
    assertThat(sent).containsExactly("fs subvolume snapshot info");
    assertThat(make(name, content, true)).isEqualTo(made);
    assertThat(sent).hasSize(2);
    driver.delete(made.id().toString());
  }

  /** A deletion by ceph-csi that has found no tracker goes on without looking for references. */
  @Test
  void aSnapshotWithoutTrackerIsLookedAtBehindTheReference() {
    VolumeId shown = VolumeId.parse(snapshot.getSnapshotId()).orElseThrow();
    STATE.removeTracker(snapshot.getSnapshotId());
    CreatedVolume made = make(name, Optional.of(new ContentSource.OfSnapshot(shown)), true);
    assertThat(sent).containsExactly("fs subvolume snapshot info", "fs subvolume snapshot info");
    driver.delete(made.id().toString());
  }

  @Test
  void aSnapshotIsTakenByThreeCommands(@TempDir Path folder) throws IOException {
    CreatedSnapshot taken = take(folder);
    assertThat(new LinkedHashSet<>(sent))
        .containsExactlyInAnyOrder(
            "fs subvolume info", "fs subvolume snapshot create", "fs subvolume snapshot info");
    assertThat(take(folder)).isEqualTo(taken);
    driver.deleteSnapshot(taken.id().toString());
  }
}
