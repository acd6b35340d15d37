package io.cephcsi.driver.rbd;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.ImageLink;
import io.cephcsi.bindings.cls.PreparedCreation;
import io.cephcsi.bindings.cls.TrashMove;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.app.DriverConfig;
import io.cephcsi.driver.cluster.ClusterConfig;
import io.cephcsi.driver.cluster.ClusterDirectory;
import io.cephcsi.driver.cluster.ConnectionPool;
import io.cephcsi.driver.cluster.Credentials;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.cluster.Storage;
import io.cephcsi.driver.journal.JournalKind;
import io.cephcsi.driver.rbd.background.ManagerCommands;
import io.cephcsi.driver.rbd.background.MgrTasks;
import io.cephcsi.driver.rbd.background.TrashQueue;
import io.cephcsi.driver.rbd.background.TrashRemoval;
import io.cephcsi.driver.testing.ForgedHeaders;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.testing.TestCluster;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a driver finds in the trash when it starts. */
class TrashSweepIT {
  private static final long MIB = 1L << 20;
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final PoolState POOL = new PoolState(CLUSTER, "rbd");

  private final String left = "csi-vol-" + UUID.randomUUID();
  private final List<String> others = new ArrayList<>();

  private static String anyName() {
    return "csi-vol-" + UUID.randomUUID();
  }

  private static void make(String image) {
    CLUSTER.rbd("create", "rbd/" + image, "--size", "8M");
  }

  /** As a driver does it. */
  private static void delete(String image) {
    delete("rbd", image);
  }

  private static void delete(String poolName, String image) {
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool(poolName)) {
      RbdPool pool = new RbdPool(io);
      TrashMove.move(pool, image, ImageId.find(pool, image).orElseThrow());
    }
  }

  /** As anybody else does it; the image must stay. */
  private String byHand(String image, String... options) {
    others.add(image);
    List<String> move = new ArrayList<>(List.of("trash", "mv"));
    move.addAll(List.of(options));
    move.add("rbd/" + image);
    CLUSTER.rbd(move.toArray(String[]::new));
    return image;
  }

  private static String idInTrash(String image) {
    return CLUSTER
        .rbd("trash", "ls", "--all", "rbd")
        .lines()
        .filter(line -> line.contains(image))
        .findFirst()
        .orElseThrow()
        .strip()
        .split(" ", -1)[0];
  }

  private static void awaitGone(String... images) {
    Awaitility.await()
        .atMost(PoolState.MANAGER_TIME)
        .untilAsserted(() -> assertThat(POOL.trash()).doesNotContain(images));
  }

  @AfterEach
  void empty() {
    for (String image : others) {
      String id = idInTrash(image);
      CLUSTER.rbd("trash", "restore", "rbd/" + id);
      CLUSTER.rbd("snap", "purge", "rbd/" + image);
      CLUSTER.rbd("rm", "rbd/" + image);
    }
  }

  @Test
  void onlyWhatADriverPutThereGoes() {
    make(left);
    delete(left);
    String named = anyName();
    make(named);
    byHand(named);
    String foreign = "volume-" + UUID.randomUUID();
    make(foreign);
    byHand(foreign);
    String deferred = anyName();
    make(deferred);
    byHand(deferred, "--expires-at", "tomorrow");
    String again = anyName();
    make(again);
    delete(again);
    CLUSTER.rbd("trash", "restore", "rbd/" + idInTrash(again));
    byHand(again);
    String backedUp = anyName();
    String backup = "backup-" + UUID.randomUUID();
    make(backedUp);
    CLUSTER.rbd("snap", "create", "rbd/" + backedUp + "@" + backup);
    delete(backedUp);
    others.add(backedUp);

    try (TestDriver driver = TestDriver.rbd(CLUSTER).start()) {
      Volume removed = driver.create("pvc-" + UUID.randomUUID(), 16 * MIB);
      String image = TestDriver.image(removed);
      byHand(image);
      driver.delete(removed.getVolumeId()); // its image stays for who put it there
      Volume volume = driver.create("pvc-" + UUID.randomUUID(), 16 * MIB);
      driver.delete(volume.getVolumeId());
      awaitGone(left, TestDriver.image(volume));
    }
    assertThat(POOL.trash()).containsAll(others);
    assertThat(CLUSTER.rbd("snap", "ls", "--pool", "rbd", "--image-id", idInTrash(backedUp)))
        .contains(backup);
  }

  @Test
  void theParentOfADeletedCloneStaysUnlessADriverDeletedItToo() {
    String parent = "volume-" + UUID.randomUUID();
    String snapshot = "snapshot-" + UUID.randomUUID();
    make(parent);
    CLUSTER.rbd("snap", "create", "rbd/" + parent + "@" + snapshot);
    CLUSTER.rbd(
        "clone", "--rbd-default-clone-format=2", "rbd/" + parent + "@" + snapshot, "rbd/" + left);
    byHand(parent);
    delete(left);

    try (TestDriver driver = TestDriver.rbd(CLUSTER).start()) {
      Volume volume = driver.create("pvc-" + UUID.randomUUID(), 16 * MIB);
      driver.delete(volume.getVolumeId());
      awaitGone(left, TestDriver.image(volume));
    }
    assertThat(POOL.trash()).contains(parent);
    assertThat(CLUSTER.rbd("snap", "ls", "--pool", "rbd", "--image-id", idInTrash(parent)))
        .contains(snapshot);
  }

  @Test
  void theMarksOfImagesThatAreGoneGoToo() {
    make(left);
    delete(left);
    String id = idInTrash(left);
    try (TestDriver driver = TestDriver.rbd(CLUSTER).start()) {
      driver.delete(driver.create("pvc-" + UUID.randomUUID(), 16 * MIB).getVolumeId());
      awaitGone(left);
    }
    assertThat(CLUSTER.rados("-p", "rbd", "listomapkeys", "rbd_trash")).contains(id);
    try (TestDriver driver = TestDriver.rbd(CLUSTER).start()) {
      driver.delete(driver.create("pvc-" + UUID.randomUUID(), 16 * MIB).getVolumeId());
      Awaitility.await()
          .atMost(PoolState.MANAGER_TIME)
          .untilAsserted(
              () ->
                  assertThat(CLUSTER.rados("-p", "rbd", "listomapkeys", "rbd_trash"))
                      .doesNotContain(id));
    }
  }

  /** librbd cannot open a half-made clone whose origin does not know of it, and has gone. */
  @Test
  void whatCannotBeOpenedGoesAndHoldsUpNothingElse() {
    String origin = "origin-" + UUID.randomUUID();
    CLUSTER.rbd("create", "rbd/" + origin, "--size", "8M");
    CLUSTER.rbd("snap", "create", "rbd/" + origin + "@one");
    String orphan = left + "-temp";
    CLUSTER.rbd(
        "clone",
        "--rbd-default-clone-format=2",
        "--image-feature=layering",
        "rbd/" + origin + "@one",
        "rbd/" + orphan);
    CLUSTER.rbd("snap", "create", "rbd/" + orphan + "@" + left);
    delete(orphan);
    String header = "rbd_header." + POOL.info(origin).path("id").asText();
    for (String key : CLUSTER.rados("-p", "rbd", "listomapkeys", header).split("\n", -1)) {
      if (key.startsWith("snapshot_") || key.startsWith("snap_children_")) {
        CLUSTER.rados("-p", "rbd", "rmomapkey", header, key);
      }
    }
    String behind = "csi-vol-ffffffff" + UUID.randomUUID().toString().substring(8);
    make(behind);
    delete(behind);

    try (TestDriver driver = TestDriver.rbd(CLUSTER).start()) {
      driver.delete(driver.create("pvc-" + UUID.randomUUID(), 16 * MIB).getVolumeId());
      Awaitility.await()
          .atMost(PoolState.MANAGER_TIME)
          .untilAsserted(
              () ->
                  assertThat(CLUSTER.rbd("trash", "ls", "--all", "rbd"))
                      .doesNotContain(left, behind));
    }
    CLUSTER.rbd("rm", "rbd/" + origin);
  }

  /** librbd itself takes a clone away that it could not end: nobody deletes that. */
  @Test
  void anImageBetweenGoesWhenTheCloneThatHeldItVanishes() {
    String temporary = left + "-temp";
    String clone = "clone-" + UUID.randomUUID();
    CLUSTER.rbd("create", "rbd/" + temporary, "--size", "8M");
    CLUSTER.rbd("snap", "create", "rbd/" + temporary + "@" + left);
    CLUSTER.rbd(
        "clone", "--rbd-default-clone-format=2", "rbd/" + temporary + "@" + left, "rbd/" + clone);
    String id = POOL.info(temporary).path("id").asText();
    delete(temporary);

    try (TestDriver driver = TestDriver.rbd(CLUSTER).start()) {
      Volume volume = driver.create("pvc-" + UUID.randomUUID(), 16 * MIB);
      Awaitility.await("the driver looks, and it stays for its clone")
          .atMost(PoolState.MANAGER_TIME)
          .until(
              () ->
                  CLUSTER
                      .rbd("snap", "ls", "--all", "--pool", "rbd", "--image-id", id)
                      .contains("trash ("));
      CLUSTER.rbd("rm", "rbd/" + clone);
      Awaitility.await()
          .atMost(PoolState.MANAGER_TIME)
          .untilAsserted(
              () -> assertThat(CLUSTER.rbd("trash", "ls", "--all", "rbd")).doesNotContain(left));
      driver.delete(volume.getVolumeId());
    }
  }

  /** Nobody deletes the clone, so nothing comes to its parent by it. */
  @Test
  void anImageGoesAtALaterCallWhenItsLastCloneWasFlattened() throws IOException {
    String clone = "clone-" + UUID.randomUUID();
    make(left);
    CLUSTER.rbd("snap", "create", "rbd/" + left + "@" + left);
    CLUSTER.rbd(
        "clone", "--rbd-default-clone-format=2", "rbd/" + left + "@" + left, "rbd/" + clone);
    String id = POOL.info(left).path("id").asText();
    delete(left);

    ClusterConfig config =
        new ClusterDirectory(
                TestDriver.clustersFile(CLUSTER, Files.createTempDirectory("clusters")))
            .require(TestDriver.CLUSTER_ID);
    Credentials credentials =
        Storage.RBD.credentials(TestDriver.secrets(CLUSTER, DriverConfig.Type.RBD));
    Duration patience = Duration.ofSeconds(10);
    try (ConnectionPool connections = new ConnectionPool(patience, patience);
        TrashQueue queue =
            new TrashQueue(
                connections,
                new TrashRemoval(new MgrTasks(new ManagerCommands()), "default"),
                Duration.ofSeconds(1));
        Lease lease = connections.lease(config, credentials)) {
      IoContext io = lease.rbdPool("rbd");
      queue.visit(config, credentials, io);
      Awaitility.await("it is looked at, and stays for its clone")
          .atMost(PoolState.MANAGER_TIME)
          .until(
              () ->
                  CLUSTER
                      .rbd("snap", "ls", "--all", "--pool", "rbd", "--image-id", id)
                      .contains("trash ("));
      CLUSTER.rbd("flatten", "--no-progress", "rbd/" + clone);
      Awaitility.await()
          .atMost(PoolState.MANAGER_TIME)
          .untilAsserted(
              () -> {
                queue.visit(config, credentials, io);
                assertThat(POOL.trash()).doesNotContain(left);
              });
    }
    CLUSTER.rbd("rm", "--no-progress", "rbd/" + clone);
  }

  /** With two clones in each generation that have the same clones, the paths double with each. */
  @Test
  void listsOfClonesThatAreNotTrueHoldUpNothingElse() {
    ForgedHeaders headers = new ForgedHeaders(CLUSTER, "rbd");
    List<String> names = new ArrayList<>();
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool("rbd")) {
      RbdPool pool = new RbdPool(io);
      List<ImageLink> clones = List.of();
      for (int generation = 0; generation < 24; generation++) {
        List<ImageLink> images = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
          String name = anyName();
          String id = PreparedCreation.create(pool, name, MIB, ImageOptions.defaults());
          try (RbdImage image = pool.open(name)) {
            image.snapshots().create(name); // one that goes with its image
            headers.clones(id, image.snapshots().id(name), clones);
          }
          TrashMove.move(pool, name, id);
          names.add(name);
          images.add(new ImageLink(io.poolId(), "", id));
        }
        clones = images;
      }
    }
    for (int i = 0; i < 2; i++) { // the first takes their snapshots away, the second themselves
      try (TestDriver driver = TestDriver.rbd(CLUSTER).start()) {
        Volume volume = driver.create("pvc-" + UUID.randomUUID(), 16 * MIB);
        driver.delete(volume.getVolumeId());
        awaitGone(TestDriver.image(volume));
      }
    }
    awaitGone(names.toArray(String[]::new));
  }

  /** Who may write to a pool chooses the ids there. */
  @Test
  void imagesOfEqualIdsInTwoPoolsGo() {
    String other = CLUSTER.otherPool();
    String twin = anyName();
    make(left);
    new ForgedHeaders(CLUSTER, other).twin(twin, "rbd", POOL.info(left).path("id").asText());
    delete(left);
    delete(other, twin);
    try (TestDriver driver = TestDriver.rbd(CLUSTER).start()) {
      for (String pool : List.of("rbd", other)) {
        Volume volume =
            driver.create(
                driver.createRequest("pvc-" + UUID.randomUUID(), MIB).putParameters("pool", pool));
        driver.delete(volume.getVolumeId());
      }
      awaitGone(left);
      Awaitility.await()
          .atMost(PoolState.MANAGER_TIME)
          .untilAsserted(
              () -> assertThat(new PoolState(CLUSTER, other).trash()).doesNotContain(twin));
    }
  }

  /** They come first: by the ids of the images. */
  @Test
  void whatIsDamagedKeepsNothingElseInTheTrash() {
    Omaps omaps = new Omaps(CLUSTER, "rbd", "");
    String unreadable = anyName();
    make(unreadable);
    String header = "rbd_header." + POOL.info(unreadable).path("id").asText();
    delete(unreadable);
    CLUSTER.rbd("trash", "restore", "rbd/" + idInTrash(unreadable)); // keeps its mark
    byte[] size = omaps.bytes(header, "size");
    omaps.set(header, "size", new byte[] {1});
    UUID uuid = UUID.randomUUID();
    String entry = JournalKind.SNAPSHOT.object(uuid);
    omaps.put(
        Map.of(
            entry,
            Map.of(
                "csi.snapname", "snapshot",
                "csi.imagename", "csi-snap-" + uuid,
                "csi.java.nativesnapshot", "not a number")));
    String kept = anyName();
    make(kept);
    CLUSTER.rbd("snap", "create", "--no-progress", "rbd/" + kept + "@csi-snap-" + uuid);
    delete(kept);
    others.add(kept);
    make(left);
    delete(left);

    try (TestDriver driver = TestDriver.rbd(CLUSTER).start()) {
      Volume volume = driver.create("pvc-" + UUID.randomUUID(), 16 * MIB);
      driver.delete(volume.getVolumeId());
      awaitGone(left, TestDriver.image(volume));
    }
    assertThat(POOL.trash()).contains(kept);
    omaps.set(header, "size", size);
    CLUSTER.rbd("rm", "--no-progress", "rbd/" + unreadable);
    omaps.remove(entry);
  }
}
