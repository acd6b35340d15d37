package io.cephcsi.driver.fsck.check;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.driver.fsck.Finding;
import io.cephcsi.driver.fsck.check.CheckedCluster.PlainVolume;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.testing.ImageContent;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.driver.testing.TestGroupSnapshots;
import io.cephcsi.driver.testing.TestGroups;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeGroupSnapshot;
import io.cephcsi.testing.Tries;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Repairs mend what is proven, change nothing else, and lose no data. */
class RepairIT {
  /** What a repair puts right with nothing left to do. */
  private static final Set<String> MENDED =
      Set.of(
          "name removed",
          "name leads nowhere",
          "name without anything",
          "image id of nothing",
          "rbd_id removed",
          "directory without name_",
          "directory without id_",
          "directory without name_ and id_",
          "in a group that is gone",
          "in a group that does not have it",
          "mark of a reclaim");

  private static final String GROUPS = "csi.groups.default";
  private static final Logger LOG = LoggerFactory.getLogger(RepairIT.class);
  private static final int TRIES = "full".equals(System.getenv("CEPH_CSI_TEST_CAMPAIGN")) ? 600 : 4;

  private static CheckedCluster cluster;
  private static Damages damages;
  private static final Map<String, Integer> CONTENT = new HashMap<>();
  private static PlainVolume whole;
  private static int changed;
  private static final List<Snapshot> snapshots = new ArrayList<>();
  private static final List<Volume> clones = new ArrayList<>();

  @BeforeAll
  static void fill() {
    cluster = new CheckedCluster("fsck-repair");
    for (int i = 0; i < 6; i++) {
      cluster.plain().add(cluster.makePlain("plain-" + i, i % 2 == 0));
    }
    try (WriteOperation write = new WriteOperation()) {
      write.create().omapSet(CheckedCluster.NODE, "2999-01-01T00:00:00Z".getBytes(UTF_8));
      cluster.io().operate("csi.java.nodes.default", write);
    }
    cluster.plain().forEach(v -> CONTENT.put(v.image(), checksum(v.image())));
    fillWhole();
    damages = new Damages(cluster);
    assertThat(cluster.check()).isEmpty();
  }

  @AfterAll
  static void end() {
    cluster.close();
  }

  /** A volume that nothing is done to, with snapshots of both kinds, a clone of each and a copy. */
  private static void fillWhole() {
    whole = cluster.makePlain("whole", true);
    TestDriver driver = cluster.driver();
    snapshots.add(driver.snapshot("whole-s", whole.id()));
    snapshots.add(
        driver.snapshot(
            driver.snapshotRequest("whole-n", whole.id()).putParameters("snapshotMode", "native")));
    for (Snapshot snapshot : snapshots) {
      clones.add(
          driver.restore(
              "whole-" + clones.size(), 32 * CheckedCluster.MIB, snapshot.getSnapshotId()));
    }
    clones.add(driver.copy("whole-c", 32 * CheckedCluster.MIB, whole.id()));
    CONTENT.put(whole.image(), checksum(whole.image()));
    new ImageContent(cluster.ceph()).write("rbd/" + whole.image(), 99); // its snapshots differ
    changed = checksum(whole.image());
    assertThat(changed).isNotEqualTo(CONTENT.get(whole.image()));
  }

  private static void useWhole() {
    int before = CONTENT.get(whole.image());
    assertThat(checksum(whole.image())).isEqualTo(changed);
    clones.forEach(clone -> assertThat(checksum(TestDriver.image(clone))).isEqualTo(before));
    TestDriver driver = cluster.driver();
    for (Snapshot snapshot : snapshots) {
      Volume restored =
          driver.restore(
              "again-" + snapshot.getSnapshotId().hashCode(),
              32 * CheckedCluster.MIB,
              snapshot.getSnapshotId());
      assertThat(checksum(TestDriver.image(restored))).isEqualTo(before);
      driver.delete(restored.getVolumeId());
    }
    clones.forEach(clone -> driver.delete(clone.getVolumeId()));
    snapshots.forEach(snapshot -> driver.deleteSnapshot(snapshot.getSnapshotId()));
    driver.delete(whole.id());
  }

  /** Mends what is found; what was done. */
  private static List<String> repair() {
    List<String> done = new ArrayList<>();
    for (Finding finding : cluster.check()) {
      finding.repair().flatMap(Finding.Repair::mend).ifPresent(done::add);
    }
    return done;
  }

  @Test
  void eachDamageIsMendedOrLeftAsItIsAndNoVolumeIsLost() {
    PlainVolume other = cluster.plain().get(5);
    damages
        .all()
        .forEach(
            (name, damage) ->
                Tries.times(
                    1,
                    values -> {
                      PlainVolume victim = values.oneOf(cluster.plain().subList(0, 5));
                      Damages.Change change = damages.new Change(victim, other, values);
                      try {
                        damage.apply(change);
                        List<String> done = repair();
                        Set<String> left = CheckedCluster.shown(cluster.check());
                        if (MENDED.contains(name)) {
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
                    }));
    assertThat(cluster.check()).isEmpty();
    for (PlainVolume volume : cluster.plain()) {
      assertThat(checksum(volume.image())).isEqualTo(CONTENT.get(volume.image()));
      use(volume);
    }
    useWhole();
    Awaitility.await()
        .atMost(Duration.ofMinutes(2))
        .untilAsserted(() -> assertThat(cluster.check()).isEmpty());
  }

  /**
   * What one damage hides, such as the entry that a name leads to, must not have another's repair
   * take it for gone.
   */
  @Test
  void severalDamagesAtOnceAreMendedOrLeftAndNoVolumeIsLost() {
    List<PlainVolume> victims = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      PlainVolume volume = cluster.makePlain("several-" + i, true);
      victims.add(volume);
      CONTENT.put(volume.image(), checksum(volume.image()));
    }
    PlainVolume other = victims.remove(5);
    AtomicInteger damaged = new AtomicInteger();
    AtomicInteger mended = new AtomicInteger();
    Tries.times(
        TRIES,
        values -> {
          Map<String, Damages.Change> changes = new LinkedHashMap<>();
          Set<String> expected = new TreeSet<>();
          boolean ofOther = false;
          for (PlainVolume victim : values.someOf(victims, 2, 5)) {
            String kind = values.oneOf(new ArrayList<>(damages.all().keySet()));
            if (kind.equals("image id of another") && ofOther) {
              continue; // of three entries, only two are named
            }
            ofOther |= kind.equals("image id of another");
            Damages.Change change = damages.new Change(victim, other, values);
            damages.all().get(kind).apply(change);
            changes.put(kind + " of " + victim.requestName(), change);
            expected.addAll(change.expected());
          }
          damaged.addAndGet(changes.size());
          List<String> done = repair();
          assertThat(expected)
              .as(changes.keySet() + " after " + done)
              .containsAll(CheckedCluster.shown(cluster.check()));
          List<String> names = new ArrayList<>(changes.keySet());
          Collections.reverse(names);
          names.stream()
              .filter(name -> MENDED.stream().noneMatch(kind -> name.startsWith(kind + " of sev")))
              .forEach(name -> changes.get(name).undo());
          done.addAll(repair()); // what another damage was in the way of, as a second instance is
          mended.addAndGet(done.size());
          assertThat(cluster.check()).as(names + " after " + done).isEmpty();
        });
    LOG.warn("{} damages in {} tries, {} repairs", damaged, TRIES, mended);
    victims.add(other);
    for (PlainVolume volume : victims) {
      assertThat(checksum(volume.image())).isEqualTo(CONTENT.get(volume.image()));
      use(volume);
    }
    Awaitility.await("the manager empties the trash")
        .atMost(Duration.ofMinutes(2))
        .untilAsserted(() -> assertThat(cluster.check()).isEmpty());
  }

  /** Whatever a volume is for still works: its snapshot, clones of both, growth, its end. */
  private static void use(PlainVolume volume) {
    String name = volume.requestName();
    int content = CONTENT.get(volume.image());
    String snapshot = cluster.driver().snapshot(name + "-s", volume.id()).getSnapshotId();
    Volume restored = cluster.driver().restore(name + "-r", 32 * CheckedCluster.MIB, snapshot);
    Volume copied = cluster.driver().copy(name + "-c", 32 * CheckedCluster.MIB, volume.id());
    for (Volume clone : List.of(restored, copied)) {
      assertThat(checksum(TestDriver.image(clone))).as(name).isEqualTo(content);
    }
    assertThat(cluster.driver().expand(volume.id(), 40 * CheckedCluster.MIB))
        .isEqualTo(40 * CheckedCluster.MIB);
    cluster.driver().delete(restored.getVolumeId());
    cluster.driver().deleteSnapshot(snapshot);
    cluster.driver().delete(copied.getVolumeId());
    assertThat(cluster.driver().create(name, 40 * CheckedCluster.MIB).getVolumeId())
        .isEqualTo(volume.id());
    cluster.driver().delete(volume.id());
    assertThat(cluster.driver().create(name, CheckedCluster.MIB).getVolumeId())
        .isNotEqualTo(volume.id());
  }

  private static int checksum(String image) {
    return new ImageContent(cluster.ceph()).checksum("rbd/" + image);
  }

  /** Their entries have no image, and are not left of a call that broke off. */
  @Test
  void groupsThatLostTheirNamesGetThemBack() {
    TestDriver driver = cluster.driver();
    List<String> volumes = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      volumes.add(driver.create("grouped-" + i, 32 * CheckedCluster.MIB).getVolumeId());
    }
    TestGroups groups = new TestGroups(cluster.ceph(), driver);
    String group = groups.create("group", volumes.get(0), volumes.get(1)).getVolumeGroupId();
    TestGroupSnapshots taking = new TestGroupSnapshots(driver);
    VolumeGroupSnapshot taken = taking.take("group-snapshot", volumes.get(2));
    Omaps omaps = new Omaps(cluster.ceph(), "rbd", "");
    Map<String, String> names = omaps.of(GROUPS);
    assertThat(names).hasSize(2);
    try (WriteOperation write = new WriteOperation()) {
      write.omapRemove(names.keySet());
      cluster.io().operate(GROUPS, write);
    }
    assertThat(CheckedCluster.shown(cluster.check())).hasSize(2);
    assertThat(repair()).hasSize(2).allMatch(done -> done.startsWith("set the name "));
    assertThat(omaps.of(GROUPS)).isEqualTo(names);
    assertThat(cluster.check()).isEmpty();
    groups.delete(group); // with its volumes
    taking.delete(taken);
    driver.delete(volumes.get(2));
    Awaitility.await("the manager empties the trash")
        .atMost(Duration.ofMinutes(2))
        .untilAsserted(() -> assertThat(cluster.check()).isEmpty());
  }

  @Test
  void whatABrokenOffCallLeftIsRemovedAndNothingElse() {
    Leftovers left = new Leftovers(cluster);
    UUID reserved = left.reserve();
    UUID deleted = left.beginDeletion();
    left.makeIntermediate();
    left.forget();
    left.beginMove(true);
    left.beginMove(false);
    String parent = left.keepSnapshot();
    String copied = "csi-vol-" + UUID.randomUUID() + "-temp"; // without a mark
    left.makeImage(copied);
    left.expected().add("INTERMEDIATE_IMAGE_LEFT " + copied);
    assertThat(CheckedCluster.shown(cluster.check())).isEqualTo(left.expected());
    assertThat(repair()).hasSize(8);
    Journal journal = new Journal(JournalKind.VOLUME, "default", cluster.io(), cluster.io());
    assertThat(journal.byUuid(reserved)).isEqualTo(Optional.empty());
    assertThat(journal.byUuid(deleted)).isEqualTo(Optional.empty());
    Awaitility.await()
        .atMost(Duration.ofMinutes(2))
        .untilAsserted(
            () -> {
              repair(); // the image that was moved to the trash
              assertThat(CheckedCluster.shown(cluster.check()))
                  .containsExactly("INTERMEDIATE_IMAGE_LEFT " + copied);
            });
    cluster.ceph().rbd("rm", "--no-progress", "rbd/" + copied);
    cluster.ceph().rbd("rm", "--no-progress", "rbd/" + parent); // it has no snapshot any more
  }
}
