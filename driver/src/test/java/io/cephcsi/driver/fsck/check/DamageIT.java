package io.cephcsi.driver.fsck.check;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.fsck.Finding;
import io.cephcsi.driver.fsck.check.CheckedCluster.PlainVolume;
import io.cephcsi.testing.TestCluster;
import io.cephcsi.testing.Tries;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A check of a pool names each damage, and nothing else. */
class DamageIT {
  private static final Logger LOG = LoggerFactory.getLogger(DamageIT.class);
  private static final boolean FULL = "full".equals(System.getenv("CEPH_CSI_TEST_CAMPAIGN"));
  private static final int TRIES = FULL ? 3200 : 40;
  private static final int MOST_AT_ONCE = 5;

  private static CheckedCluster cluster;
  private static Damages damages;

  @BeforeAll
  static void fill() {
    cluster = new CheckedCluster("fsck");
    cluster.fill();
    damages = new Damages(cluster);
    awaitClean();
  }

  @AfterAll
  static void end() {
    cluster.close();
  }

  /** The manager removes what is in the trash when it comes to it. */
  private static void awaitClean() {
    Awaitility.await()
        .atMost(Duration.ofMinutes(2))
        .untilAsserted(() -> assertThat(cluster.check()).as("findings without damage").isEmpty());
  }

  @Test
  void eachDamageIsFoundAndNothingElse() {
    List<String> wrong = new ArrayList<>();
    damages.all().forEach((name, damage) -> find(name, damage, cluster.plain().get(0), wrong));
    damages.all().forEach((name, damage) -> find(name, damage, cluster.plain().get(1), wrong));
    damages
        .ofSnapshots()
        .forEach((name, damage) -> find(name, damage, cluster.plain().get(0), wrong));
    assertThat(wrong).isEmpty();
    awaitClean();
  }

  private static void find(
      String name, Damages.Damage damage, PlainVolume volume, List<String> wrong) {
    Tries.times(
        1,
        values -> {
          Damages.Change change = damages.new Change(volume, cluster.plain().get(2), values);
          try {
            damage.apply(change);
            List<Finding> found = cluster.check();
            if (!CheckedCluster.shown(found).equals(change.expected())) {
              wrong.add(name + ": expected " + change.expected() + " but found " + found);
            }
          } finally {
            change.undo();
          }
        });
  }

  @Test
  void severalDamagesAtOnceAreFoundAndNothingElse() {
    AtomicInteger count = new AtomicInteger();
    Tries.times(
        TRIES,
        values -> {
          List<PlainVolume> victims =
              values.someOf(
                  cluster.plain().subList(0, cluster.plain().size() - 1), 2, MOST_AT_ONCE);
          PlainVolume other = cluster.plain().get(cluster.plain().size() - 1);
          List<Map.Entry<String, Damages.Damage>> kinds = new ArrayList<>(damages.all().entrySet());
          List<String> names = new ArrayList<>();
          List<Damages.Change> changes = new ArrayList<>();
          Set<String> expected = new TreeSet<>();
          boolean ofOther = false;
          try {
            if (values.either()) {
              Map.Entry<String, Damages.Damage> kind =
                  values.oneOf(new ArrayList<>(damages.ofSnapshots().entrySet()));
              names.add(kind.getKey());
              Damages.Change change = damages.new Change(other, other, values);
              changes.add(change);
              kind.getValue().apply(change);
              expected.addAll(change.expected());
              count.incrementAndGet();
            }
            for (PlainVolume victim : victims) {
              Map.Entry<String, Damages.Damage> kind = values.oneOf(kinds);
              if (kind.getKey().equals("image id of another") && ofOther) {
                continue; // of three entries, only two are named
              }
              ofOther |= kind.getKey().equals("image id of another");
              names.add(kind.getKey() + " of " + victim.requestName());
              Damages.Change change = damages.new Change(victim, other, values);
              changes.add(change);
              kind.getValue().apply(change);
              expected.addAll(change.expected());
              count.incrementAndGet();
            }
            List<Finding> found = cluster.check();
            assertThat(CheckedCluster.shown(found)).as(names + ": " + found).isEqualTo(expected);
          } finally {
            for (int i = changes.size() - 1; i >= 0; i--) {
              changes.get(i).undo();
            }
          }
        });
    LOG.warn("{} damages in {} tries, each found and nothing else", count, TRIES);
    awaitClean();
  }

  /** They are listed, and cannot be read: the snapshots keep them. */
  @Test
  void dataOfWhichOnlySnapshotsAreLeftAreFoundUnlessTheyAreBeingRemoved() {
    TestCluster ceph = cluster.ceph();
    IoContext io = cluster.io();
    String image = "rbd/snapshotted";
    ceph.rbd("create", "--size=4M", "--image-feature=layering", image);
    String id = ImageId.find(new RbdPool(io), "snapshotted").orElseThrow();
    String data = "rbd_data." + id + ".0000000000000000";
    ceph.rbd("bench", "--io-type=write", "--io-size=4K", "--io-total=64K", image);
    ceph.rbd("snap", "create", "--no-progress", image + "@s");
    ceph.rbd("bench", "--io-type=write", "--io-size=4K", "--io-total=8K", image);
    List<SavedObject> saved = new ArrayList<>();
    for (String object : List.of(data, "rbd_header." + id, "rbd_id.snapshotted")) {
      saved.add(SavedObject.of(io, object));
      io.remove(object);
    }
    SavedObject directory = SavedObject.of(io, "rbd_directory");
    try (WriteOperation write = new WriteOperation()) {
      io.operate("rbd_directory", write.omapRemove(List.of("name_snapshotted", "id_" + id)));
    }
    ceph.ceph("osd", "set", "nosnaptrim");
    ceph.rbd("snap", "create", "--no-progress", "rbd/" + cluster.plain().get(0).image() + "@gone");
    ceph.rbd("snap", "rm", "--no-progress", "rbd/" + cluster.plain().get(0).image() + "@gone");
    try {
      RbdCheck.Result result = cluster.result(Duration.ZERO, Duration.ZERO);
      assertThat(result.findings()).isEmpty();
      assertThat(result.leftOut().orElseThrow()).contains("data of 1 images", "still removes");
    } finally {
      ceph.ceph("osd", "unset", "nosnaptrim");
    }
    Awaitility.await("the pool forgets the snapshots that other tests removed")
        .atMost(Duration.ofMinutes(2))
        .untilAsserted(
            () ->
                assertThat(CheckedCluster.shown(cluster.check()))
                    .containsExactly("SNAPSHOT_DATA_WITHOUT_HEADER rbd_data." + id));
    saved.forEach(object -> object.restore(io));
    directory.restore(io);
    ceph.rbd("snap", "rm", "--no-progress", image + "@s");
    ceph.rbd("rm", "--no-progress", image);
    assertThat(cluster.check()).isEmpty();
    awaitClean();
  }

  @Test
  void nothingIsFoundWhileClientsCreateAndDelete() throws Exception {
    List<String> trash = trash();
    AtomicBoolean stop = new AtomicBoolean();
    AtomicInteger made = new AtomicInteger();
    ExecutorService clients = Executors.newFixedThreadPool(8);
    try {
      List<Future<?>> running = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        int client = i;
        running.add(clients.submit(() -> createAndDelete(client, stop, made)));
      }
      List<String> found = new ArrayList<>();
      int checks = FULL ? 100 : 3;
      for (int i = 0; i < checks; i++) {
        cluster
            .check(Duration.ofSeconds(3), Duration.ofMinutes(10))
            .forEach(finding -> found.add(finding.toString()));
      }
      stop.set(true);
      for (Future<?> client : running) {
        client.get();
      }
      assertThat(made).as("what the clients made meanwhile").hasValueGreaterThan(8);
      assertThat(found).isEmpty();
      LOG.warn("{} checks while {} things were made and deleted", checks, made);
    } finally {
      stop.set(true);
      clients.shutdown();
    }
    Awaitility.await(
            "the manager removes what was deleted: thousands of images in the long campaign")
        .atMost(FULL ? Duration.ofMinutes(30) : Duration.ofMinutes(2))
        .pollInterval(FULL ? Duration.ofSeconds(10) : Duration.ofMillis(100))
        .untilAsserted(
            () -> {
              List<Finding> left = cluster.check();
              if (FULL && !left.isEmpty()) { // what the driver's queue had no room for
                cluster.driver().delete(cluster.driver().create("last", 1).getVolumeId());
              }
              assertThat(left).as("findings without damage").isEmpty();
              // One with clones is no finding, until the last of them goes.
              assertThat(trash()).isSubsetOf(trash);
            });
  }

  private static List<String> trash() {
    return cluster.ceph().rbd("trash", "ls", "--all", "rbd").lines().toList();
  }

  private static void createAndDelete(int client, AtomicBoolean stop, AtomicInteger made) {
    for (int i = 0; !stop.get(); i++) {
      String name = "busy-" + client + "-" + i;
      String volume = cluster.driver().create(name, 8 * CheckedCluster.MIB).getVolumeId();
      String snapshot = cluster.driver().snapshot(name + "-s", volume).getSnapshotId();
      String restored =
          cluster.driver().restore(name + "-r", 8 * CheckedCluster.MIB, snapshot).getVolumeId();
      cluster.driver().delete(volume);
      cluster.driver().deleteSnapshot(snapshot);
      cluster.driver().delete(restored);
      made.addAndGet(3);
    }
  }
}
