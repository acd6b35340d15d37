package io.cephcsi.driver.fsck.check;

import static io.cephcsi.driver.fsck.check.CheckedFileSystem.MIB;
import static io.cephcsi.driver.fsck.check.CheckedFileSystem.uuid;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.cephfs.CephFsFile;
import io.cephcsi.driver.fsck.Finding;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.Tries;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Repairs of a file system mend what is proven, change nothing else, and lose no data. */
class FileSystemRepairIT {
  /** What a repair puts right with nothing left to do. */
  private static final Set<String> MENDED =
      Set.of(
          "name removed",
          "name leads nowhere",
          "tracker removed",
          "name of the shallow volume removed",
          "name of the snapshot removed");

  /** Of this the name goes, which leads nowhere; the reference stays for a person to judge. */
  private static final String PARTLY = "entry of the shallow volume removed";

  private static final int PLAIN = 4;

  private static CheckedFileSystem cluster;
  private static TestDriver driver;
  private static FileSystemDamages damages;
  private static final Map<UUID, byte[]> CONTENT = new HashMap<>();
  private static final List<Volume> VOLUMES = new ArrayList<>();
  private static final List<Map<String, FileSystemDamages.Damage>> VICTIMS = new ArrayList<>();
  private static Volume source;
  private static String taken;
  private static Volume shown;

  @BeforeAll
  static void fill() {
    cluster = new CheckedFileSystem("fsck-fs-repair");
    driver = cluster.driver();
    damages = new FileSystemDamages(cluster);
    for (int i = 0; i < PLAIN; i++) {
      Volume volume = driver.create("plain-" + i, 8 * MIB);
      VOLUMES.add(volume);
      write(uuid(volume.getVolumeId()), i);
      VICTIMS.add(damages.ofVolume("plain-" + i, volume));
    }
    source = driver.create("source-0", 8 * MIB);
    write(uuid(source.getVolumeId()), PLAIN);
    taken = driver.snapshot("shot-0", source.getVolumeId()).getSnapshotId();
    shown = driver.show("shown-0", taken);
    VICTIMS.add(
        damages.ofSnapshot(0, uuid(source.getVolumeId()), taken, uuid(shown.getVolumeId())));
    assertNothingFound();
  }

  @AfterAll
  static void end() {
    cluster.close();
  }

  private static void assertNothingFound() {
    Awaitility.await() // the manager ends copies and removals
        .atMost(Duration.ofMinutes(1))
        .untilAsserted(() -> assertThat(cluster.check()).isEmpty());
  }

  private static void write(UUID volume, int seed) {
    byte[] content = new byte[100_000];
    new Random(seed).nextBytes(content);
    CONTENT.put(volume, content);
    try (CephFsFile file = cluster.mount().createFile(cluster.path(volume) + "/data", 0644)) {
      file.write(0, content);
    }
    cluster.mount().sync();
  }

  private static byte[] read(String directory) {
    try (CephFsFile file = cluster.mount().openFile(directory + "/data")) {
      return file.read(0, 200_000);
    }
  }

  @Test
  void eachDamageIsMendedOrLeftAsItIsAndNoVolumeIsLost() {
    for (Map<String, FileSystemDamages.Damage> victim : VICTIMS) {
      victim.forEach(FileSystemRepairIT::mend);
    }
    assertNothingFound();
    for (int i = 0; i < PLAIN; i++) {
      use("plain-" + i, VOLUMES.get(i));
    }
    useSnapshot();
    assertNothingFound();
  }

  @Test
  void aSnapshotThatNobodyKnowsSaysWhatItShows() {
    Volume own = driver.create("snapshotted", 8 * MIB);
    UUID volume = uuid(own.getVolumeId());
    write(volume, 99);
    String snapshot = "csi-snap-" + UUID.randomUUID();
    cluster
        .ceph()
        .ceph(
            "fs",
            "subvolume",
            "snapshot",
            "create",
            cluster.name(),
            "csi-vol-" + volume,
            snapshot,
            "--group_name",
            "csi");
    List<Finding> found = cluster.check();
    assertThat(CheckedCluster.shown(found))
        .containsExactly("SUBVOLUME_SNAPSHOT_WITHOUT_ENTRY csi-vol-" + volume + "@" + snapshot);
    assertThat(found.get(0).bytes().orElseThrow()) // the manager has a file beside them
        .isBetween((long) CONTENT.get(volume).length, CONTENT.get(volume).length + 1000L);
    String[] words = found.get(0).command().split(" ", -1);
    cluster.ceph().ceph(Arrays.copyOfRange(words, 1, words.length)); // what a person would run
    driver.delete(own.getVolumeId());
    assertNothingFound();
  }

  private static void mend(String name, FileSystemDamages.Damage damage) {
    Tries.times(
        1,
        values -> {
          FileSystemDamages.Change change = damages.new Change(values);
          try {
            damage.apply(change);
            List<String> done = cluster.repair();
            Set<String> left = CheckedCluster.shown(cluster.check());
            if (name.equals(PARTLY)) {
              assertThat(left).containsExactly("TRACKER_WRONG " + taken);
            } else if (MENDED.contains(name)) {
              assertThat(left).as(name + " after " + done).isEmpty();
            } else {
              assertThat(left).as(name + " after " + done).isEqualTo(change.expected());
              assertThat(done).as(name).isEmpty();
            }
          } finally {
            if (!MENDED.contains(name)) {
              change.undo();
            }
          }
        });
    if (name.equals(PARTLY)) {
      assertThat(cluster.repair()).as("the entry is back, and gets its name").hasSize(1);
    }
  }

  /** Whatever a volume is for still works: its snapshot, copies of both, growth, its end. */
  private static void use(String name, Volume volume) {
    UUID uuid = uuid(volume.getVolumeId());
    String path = cluster.path(uuid);
    assertThat(read(path)).isEqualTo(CONTENT.get(uuid));
    assertThat(driver.expand(volume.getVolumeId(), 12 * MIB)).isEqualTo(12 * MIB);
    assertThat(cluster.mount().usage(path).quotaBytes()).hasValue(12 * MIB);
    String snapshot = driver.snapshot(name + "-s", volume.getVolumeId()).getSnapshotId();
    String copy = copyOf(name, snapshot);
    assertThat(read(cluster.path(uuid(copy)))).isEqualTo(CONTENT.get(uuid));
    String shallow = driver.show(name + "-v", snapshot).getVolumeId();
    driver.deleteSnapshot(snapshot);
    driver.delete(shallow);
    driver.delete(copy);
    assertThat(driver.create(name, 12 * MIB).getVolumeId()).isEqualTo(volume.getVolumeId());
    driver.delete(volume.getVolumeId());
    assertThat(driver.create(name, MIB).getVolumeId()).isNotEqualTo(volume.getVolumeId());
  }

  private static String copyOf(String name, String snapshot) {
    return Awaitility.await() // the call is repeated until the copy is complete
        .atMost(Duration.ofMinutes(1))
        .ignoreExceptionsInstanceOf(StatusRuntimeException.class)
        .until(
            () -> driver.restore(name + "-r", 12 * MIB, snapshot).getVolumeId(),
            id -> !id.isEmpty());
  }

  /** The snapshot outlives its deletion and its volume's as long as a shallow volume shows it. */
  private static void useSnapshot() {
    UUID volume = uuid(source.getVolumeId());
    String path = cluster.path(volume);
    int last = path.lastIndexOf('/');
    String atSnapshot =
        path.substring(0, last) + "/.snap/csi-snap-" + uuid(taken) + path.substring(last);
    assertThat(read(atSnapshot)).isEqualTo(CONTENT.get(volume));
    assertThat(driver.show("shown-0", taken).getVolumeId()).isEqualTo(shown.getVolumeId());
    driver.deleteSnapshot(taken);
    driver.delete(source.getVolumeId());
    assertThat(read(atSnapshot)).isEqualTo(CONTENT.get(volume));
    driver.delete(shown.getVolumeId());
    assertThat(cluster.mount().find(path)).isEmpty();
  }
}
