package io.cephcsi.driver.fsck.check;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.cls.HeaderAttribute;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.TrashMove;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.fsck.Finding;
import io.cephcsi.driver.fsck.check.CheckedCluster.PlainVolume;
import io.cephcsi.driver.journal.Journal;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.testing.ImageContent;
import io.cephcsi.testing.Tries;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

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
          "mark of a reclaim");

  private static CheckedCluster cluster;
  private static Damages damages;
  private static final Map<String, Integer> CONTENT = new HashMap<>();

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
    ImageContent content = new ImageContent(cluster.ceph());
    cluster.plain().forEach(v -> CONTENT.put(v.image(), content.checksum("rbd/" + v.image())));
    damages = new Damages(cluster);
    assertThat(cluster.check()).isEmpty();
  }

  @AfterAll
  static void end() {
    cluster.close();
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
      assertThat(new ImageContent(cluster.ceph()).checksum("rbd/" + volume.image()))
          .isEqualTo(CONTENT.get(volume.image()));
      use(volume);
    }
    Awaitility.await()
        .atMost(Duration.ofMinutes(2))
        .untilAsserted(() -> assertThat(cluster.check()).isEmpty());
  }

  /** Whatever a volume is for still works. */
  private static void use(PlainVolume volume) {
    String name = volume.requestName();
    String snapshot = cluster.driver().snapshot(name + "-s", volume.id()).getSnapshotId();
    String restored =
        cluster.driver().restore(name + "-r", 32 * CheckedCluster.MIB, snapshot).getVolumeId();
    assertThat(cluster.driver().expand(volume.id(), 40 * CheckedCluster.MIB))
        .isEqualTo(40 * CheckedCluster.MIB);
    cluster.driver().delete(restored);
    cluster.driver().deleteSnapshot(snapshot);
    assertThat(cluster.driver().create(name + "-again", CheckedCluster.MIB).getVolumeId())
        .isNotEqualTo(volume.id());
  }

  @Test
  void whatABrokenOffCallLeftIsRemovedAndNothingElse() {
    RbdPool pool = new RbdPool(cluster.io());
    Journal journal = new Journal(JournalKind.VOLUME, "default", cluster.io(), cluster.io());
    JournalEntry reserved =
        journal.reserve("broken-off", uuid -> "csi-vol-" + uuid, Map.of("csi.java.maker", "1"));
    JournalEntry deleted =
        journal.reserve(
            "half-deleted",
            uuid -> "csi-vol-" + uuid,
            Map.of("csi.imageid", "fff01", "csi.java.deleting", "2026-01-01T00:00:00Z 1"));
    String volume = "csi-vol-" + UUID.randomUUID();
    String between = volume + "-temp";
    cluster.ceph().rbd("create", "--size=8M", "rbd/" + between);
    String betweenId = ImageId.find(pool, between).orElseThrow();
    new HeaderAttribute("csi.java.between", volume).write(cluster.io(), betweenId);
    String copied = "csi-vol-" + UUID.randomUUID() + "-temp";
    cluster.ceph().rbd("create", "--size=8M", "rbd/" + copied);
    String forgotten = "csi-vol-" + UUID.randomUUID();
    cluster.ceph().rbd("create", "--size=8M", "rbd/" + forgotten);
    TrashMove.move(pool, forgotten, ImageId.find(pool, forgotten).orElseThrow());
    assertThat(CheckedCluster.shown(cluster.check()))
        .containsExactlyInAnyOrder(
            "CREATION_UNFINISHED csi.volume." + reserved.uuid(),
            "DELETION_UNFINISHED csi.volume." + deleted.uuid(),
            "INTERMEDIATE_IMAGE_LEFT " + between,
            "INTERMEDIATE_IMAGE_LEFT " + copied,
            "TRASH_REMOVABLE " + forgotten);
    assertThat(repair()).hasSize(4);
    assertThat(journal.byUuid(reserved.uuid())).isEqualTo(Optional.empty());
    assertThat(journal.byUuid(deleted.uuid())).isEqualTo(Optional.empty());
    Awaitility.await()
        .atMost(Duration.ofMinutes(2))
        .untilAsserted(
            () -> {
              repair(); // the image that was moved to the trash
              assertThat(CheckedCluster.shown(cluster.check()))
                  .containsExactly("INTERMEDIATE_IMAGE_LEFT " + copied);
            });
    cluster.ceph().rbd("rm", "--no-progress", "rbd/" + copied);
  }
}
