package io.cephcsi.driver.rbd;

import static io.cephcsi.driver.testing.Statuses.assertStatus;
import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.cls.ImageLink;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.ObjectLock;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.driver.app.DriverConfig;
import io.cephcsi.driver.testing.ForgedHeaders;
import io.cephcsi.driver.testing.ImageContent;
import io.cephcsi.driver.testing.NodeClient;
import io.cephcsi.driver.testing.Omaps;
import io.cephcsi.driver.testing.PoolState;
import io.cephcsi.driver.testing.TestDriver;
import io.cephcsi.proto.addons.reclaimspace.ControllerReclaimSpaceRequest;
import io.cephcsi.proto.csi.v1.Snapshot;
import io.cephcsi.proto.csi.v1.Volume;
import io.cephcsi.proto.csi.v1.VolumeCapability;
import io.cephcsi.proto.csi.v1.VolumeCapability.AccessMode.Mode;
import io.cephcsi.testing.TestCluster;
import io.grpc.Status.Code;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Headers by which who may write to one pool would get at the content of another. */
class ForeignContentIT {
  private static final long MIB = 1L << 20;
  private static final TestCluster CLUSTER = TestCluster.shared();
  private static final String OTHER = CLUSTER.otherPool();
  private static final PoolState POOL = new PoolState(CLUSTER, CLUSTER.pool());
  private static final PoolState OTHERS = new PoolState(CLUSTER, OTHER);
  private static final ForgedHeaders HEADERS = new ForgedHeaders(CLUSTER, CLUSTER.pool());
  private static final ImageContent CONTENT = new ImageContent(CLUSTER);
  private static final VolumeCapability RAW = NodeClient.block(Mode.SINGLE_NODE_WRITER);

  @RegisterExtension
  static final TestDriver driver =
      TestDriver.rbd(CLUSTER).instance("foreign-" + UUID.randomUUID()).withCredentials().start();

  private static long ownPool;
  private static long otherPool;

  private final String name = "pvc-" + UUID.randomUUID();
  private final String victim = "victim-" + UUID.randomUUID();
  private NodeClient node;
  private int content;

  @BeforeAll
  static void start() {
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext own = cluster.openPool(CLUSTER.pool());
        IoContext other = cluster.openPool(OTHER)) {
      ownPool = own.poolId();
      otherPool = other.poolId();
    }
  }

  @BeforeEach
  void makeVictim() {
    node = driver.node();
    CLUSTER.rbd("create", OTHER + "/" + victim, "--size", "16M");
    CONTENT.write(OTHER + "/" + victim, 3);
    CLUSTER.rbd("snap", "create", OTHER + "/" + victim + "@one", "--no-progress");
    content = CONTENT.checksum(OTHER + "/" + victim);
  }

  @AfterEach
  void victimIsUnharmed() {
    assertThat(node.leftovers()).isEmpty();
    node.close();
    assertThat(CONTENT.checksum(OTHER + "/" + victim)).isEqualTo(content);
    CLUSTER.rbd("snap", "rm", OTHER + "/" + victim + "@one", "--no-progress");
    CLUSTER.rbd("rm", OTHER + "/" + victim, "--no-progress");
  }

  private static String id(String image) {
    return POOL.info(image).path("id").asText();
  }

  private void giveVictimsData(String imageId) {
    String prefix = OTHERS.info(victim).path("block_name_prefix").asText();
    HEADERS.data(imageId, otherPool, prefix);
  }

  private static void giveOwnData(String imageId) {
    HEADERS.data(imageId, ownPool, "rbd_data." + imageId);
  }

  private ImageLink victimsLink() {
    return new ImageLink(otherPool, "", OTHERS.info(victim).path("id").asText());
  }

  private long victimsSnapshot() {
    return OTHERS.snapshots(victim).get(0).path("id").asLong();
  }

  private void refuse(Volume volume) {
    refuseToShow(volume);
    refuse(() -> reclaim(volume));
  }

  private void refuseToShow(Volume volume) {
    refuse(() -> node.stage(volume, RAW));
    refuse(() -> driver.snapshot(name + "-refused", volume.getVolumeId()));
    refuse(() -> driver.copy(name + "-refused", 0, volume.getVolumeId()));
  }

  private static void refuse(Runnable call) {
    assertStatus(Code.FAILED_PRECONDITION, "image " + CLUSTER.pool() + "/", call::run);
  }

  private static void reclaim(Volume volume) {
    driver
        .reclaim()
        .controllerReclaimSpace(
            ControllerReclaimSpaceRequest.newBuilder()
                .setVolumeId(volume.getVolumeId())
                .putAllSecrets(driver.secrets())
                .build());
  }

  private static void grow(Volume volume) {
    driver.expand(volume.getVolumeId(), 128 * MIB);
  }

  private void stageAndUnstage(Volume volume) {
    node.stage(volume, RAW);
    node.remove(volume);
  }

  /** The trash is emptied in order: what was deleted before another one had its turn. */
  private void awaitEmptied() {
    Volume last = driver.create(name + "-last", MIB);
    driver.delete(last.getVolumeId());
    awaitGone(TestDriver.image(last));
  }

  private static void awaitGone(String image) {
    Awaitility.await()
        .atMost(PoolState.MANAGER_TIME)
        .untilAsserted(() -> assertThat(POOL.trash()).doesNotContain(image));
  }

  private void deleteInVain(Volume volume, String imageId, Runnable mend) {
    driver.delete(volume.getVolumeId());
    awaitEmptied();
    assertThat(POOL.trash()).contains(TestDriver.image(volume));
    mend.run();
    CLUSTER.rbd("trash", "rm", CLUSTER.pool() + "/" + imageId, "--no-progress");
  }

  @Test
  void dataOfAnotherPoolAreNeitherShownNorTouched() {
    Volume volume = driver.create(name, 64 * MIB);
    String id = id(TestDriver.image(volume));
    giveVictimsData(id);
    refuse(volume);
    refuse(() -> grow(volume));
    deleteInVain(volume, id, () -> giveOwnData(id));
  }

  @Test
  void ancestorsMayNotHaveThemEither() {
    Volume source = driver.create(name + "-source", 64 * MIB);
    Snapshot snapshot = driver.snapshot(name, source.getVolumeId());
    Volume volume = driver.restore(name, 0, snapshot.getSnapshotId());
    String parent = id(TestDriver.image(snapshot));
    giveVictimsData(parent);
    refuse(volume);
    refuse(() -> driver.restore(name + "-refused", 0, snapshot.getSnapshotId()));
    giveOwnData(parent);
    stageAndUnstage(volume);
    driver.delete(volume.getVolumeId());
    driver.deleteSnapshot(snapshot.getSnapshotId());
    driver.delete(source.getVolumeId());
    awaitEmptied();
  }

  @Test
  void aParentOfAnotherPoolThatKnowsNothingOfItIsNotShown() {
    Volume volume = driver.create(name, 64 * MIB);
    HEADERS.parent(id(TestDriver.image(volume)), victimsLink(), victimsSnapshot(), 16 * MIB);
    refuse(volume);
    driver.delete(volume.getVolumeId());
    awaitGone(TestDriver.image(volume));
  }

  /** A reclaim checks an image, and may wait long for the others of the cluster then. */
  @Test
  void aParentThatComesWhileAReclaimWaitsIsNotShownEither() {
    Volume volume = driver.create(name, 64 * MIB);
    String id = id(TestDriver.image(volume));
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool(CLUSTER.pool());
        IoContext other = cluster.openPool(OTHER)) {
      reclaim(volume); // makes the object of the slots
      List<String> before = dataObjects(io, id);
      List<ObjectLock> slots = takeAllSlots(io, other);
      CompletableFuture<Void> reclaim = CompletableFuture.runAsync(() -> reclaim(volume));
      try {
        Awaitility.await()
            .pollDelay(Duration.ofSeconds(2)) // the first call is the one that waits
            .atMost(Duration.ofSeconds(30))
            .untilAsserted(
                () ->
                    assertStatus(
                        Code.ABORTED, "among the reclaims of the cluster", () -> reclaim(volume)));
        HEADERS.parent(id, victimsLink(), victimsSnapshot(), 16 * MIB);
      } finally {
        slots.forEach(ObjectLock::release);
      }
      assertStatus(
          Code.FAILED_PRECONDITION,
          "does not list it as a clone",
          () -> {
            try {
              reclaim.join();
            } catch (CompletionException e) {
              throw (RuntimeException) e.getCause();
            }
          });
      assertThat(dataObjects(io, id)).isEqualTo(before);
    }
    driver.delete(volume.getVolumeId());
    awaitGone(TestDriver.image(volume));
  }

  private static List<String> dataObjects(IoContext io, String imageId) {
    return io.objects().stream().filter(o -> o.startsWith("rbd_data." + imageId)).sorted().toList();
  }

  /** They are in one of the pools, whichever is older. */
  private static List<ObjectLock> takeAllSlots(IoContext... pools) {
    List<ObjectLock> taken = new ArrayList<>();
    for (IoContext io : pools) {
      for (int slot = 0; slot < DriverConfig.RECLAIMS_PER_CLUSTER; slot++) {
        String place = "place-" + slot;
        Awaitility.await() // a process that was killed by another test may have one
            .atMost(Duration.ofSeconds(40))
            .until(
                () ->
                    ObjectLock.tryAcquire(
                            io,
                            "ceph-csi-java.reclaims",
                            place,
                            "test",
                            "test",
                            Duration.ofMinutes(5))
                        .map(taken::add)
                        .isPresent());
      }
    }
    return taken;
  }

  @Test
  void cloneOfAnotherPoolsSnapshotIsStagedAndCloned() {
    Volume source = driver.create(name + "-source", 64 * MIB);
    Snapshot snapshot = driver.snapshot(name, source.getVolumeId());
    Volume volume =
        driver.create(
            driver.restoreRequest(name, 0, snapshot.getSnapshotId()).putParameters("pool", OTHER));
    stageAndUnstage(volume);
    reclaim(volume);
    Volume copy = driver.copy(name + "-copy", 0, volume.getVolumeId());
    stageAndUnstage(copy);
    driver.delete(copy.getVolumeId());
    driver.delete(volume.getVolumeId());
    driver.deleteSnapshot(snapshot.getSnapshotId());
    driver.delete(source.getVolumeId());
    awaitEmptied();
  }

  private Volume byHand() {
    return Volume.newBuilder()
        .setVolumeId(name)
        .putVolumeContext("staticVolume", "true")
        .putVolumeContext("clusterID", TestDriver.CLUSTER_ID)
        .putVolumeContext("pool", CLUSTER.pool())
        .putVolumeContext("imageFeatures", "layering")
        .build();
  }

  /** Nothing on the side of its parent tells of it. */
  @Test
  void cloneOfFormat1OfAnotherPoolIsStagedWhenItIsFlattened() {
    String image = CLUSTER.pool() + "/" + name;
    CLUSTER.rbd("snap", "protect", OTHER + "/" + victim + "@one");
    CLUSTER.rbd("clone", "--rbd-default-clone-format=1", OTHER + "/" + victim + "@one", image);
    Volume volume = byHand();
    assertStatus(Code.FAILED_PRECONDITION, "rbd flatten", () -> node.stage(volume, RAW));
    CLUSTER.rbd("flatten", image, "--no-progress");
    stageAndUnstage(volume);
    CLUSTER.rbd("rm", image, "--no-progress");
    CLUSTER.rbd("snap", "unprotect", OTHER + "/" + victim + "@one");
  }

  /** librbd would open parents until the memory of the driver is used up. */
  @Test
  void anImageThatIsItsOwnAncestorIsNotOpened() {
    Volume volume = driver.create(name, 64 * MIB);
    String image = TestDriver.image(volume);
    CLUSTER.rbd("snap", "create", CLUSTER.pool() + "/" + image + "@" + image, "--no-progress");
    String id = id(image);
    long snapshot = POOL.snapshots(image).get(0).path("id").asLong();
    HEADERS.parent(id, new ImageLink(ownPool, "", id), snapshot, 16 * MIB);
    refuse(volume);
    refuse(() -> grow(volume));
    driver.delete(volume.getVolumeId());
    awaitEmptied();
    assertThat(POOL.trash()).contains(image);
    HEADERS.noParent(id);
    CLUSTER.rbd("trash", "restore", CLUSTER.pool() + "/" + id);
    CLUSTER.rbd("snap", "purge", CLUSTER.pool() + "/" + image, "--no-progress");
    CLUSTER.rbd("rm", CLUSTER.pool() + "/" + image, "--no-progress");
  }

  /** librbd would end the process: it divides by them, and asserts them. */
  @Test
  void layoutsThatNoImageHasAreNotOpened() {
    Volume volume = driver.create(name, 64 * MIB);
    String header = "rbd_header." + id(TestDriver.image(volume));
    Omaps omaps = new Omaps(CLUSTER, CLUSTER.pool(), "");
    node.stage(volume, RAW);
    node.publish(volume, RAW, "pod");
    for (Map<String, byte[]> layout : ForgedHeaders.layouts(omaps.bytes(header, "features"))) {
      Map<String, byte[]> own = new HashMap<>();
      layout.forEach((key, value) -> own.put(key, omaps.bytes(header, key)));
      layout.forEach((key, value) -> omaps.set(header, key, value));
      refuse(() -> grow(volume));
      refuse(() -> reclaim(volume));
      refuse(() -> driver.snapshot(name + "-refused", volume.getVolumeId()));
      refuse(() -> node.stats(volume, "pod"));
      own.forEach(
          (key, value) -> {
            if (value.length == 0) {
              omaps.removeKey(header, key);
            } else {
              omaps.set(header, key, value);
            }
          });
    }
    assertThat(node.stats(volume, "pod").getUsageList()).isNotEmpty();
    node.remove(volume);
    driver.delete(volume.getVolumeId());
    awaitGone(TestDriver.image(volume));
  }

  /** librbd takes the names of data objects for a format of printf. */
  @Test
  void idsThatLibrbdDoesNotGiveAreNotOpened() {
    String image = CLUSTER.pool() + "/" + name;
    CLUSTER.rbd("create", image, "--size", "16M", "--image-feature", "layering");
    String id = id(name);
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool(CLUSTER.pool())) {
      for (String other : List.of("x%200d", "%s%n", "a".repeat(70), "a\0b")) {
        Runnable end = ForgedHeaders.otherId(io, name, id, other);
        refuse(() -> node.stage(byHand(), RAW));
        end.run();
      }
    }
    CLUSTER.rbd("rm", image, "--no-progress");
  }

  /** The machine that opens such an image is where librbd looks for the file. */
  @Test
  void anImageThatIsMigratedFromAFileIsNotOpened() {
    Volume volume = driver.create(name, 64 * MIB);
    String id = id(TestDriver.image(volume));
    String file = "{\"type\":\"raw\",\"stream\":{\"type\":\"file\",\"file_path\":\"/etc/passwd\"}}";
    Runnable end = HEADERS.migration(id, new ImageLink(-1, "", ""), file);
    refuse(volume);
    refuse(() -> grow(volume));
    assertStatus(Code.FAILED_PRECONDITION, () -> driver.delete(volume.getVolumeId()));
    end.run();
    driver.delete(volume.getVolumeId());
  }

  @Test
  void anImageThatIsMigratedFromAnotherPoolIsStagedIfThatPoolKnows() {
    Volume volume = driver.create(name, 64 * MIB);
    Runnable end = HEADERS.migration(id(TestDriver.image(volume)), victimsLink(), "");
    refuseToShow(volume); // a reclaim leaves it alone
    end.run();
    driver.delete(volume.getVolumeId());
    String known = OTHER + "/" + name;
    CLUSTER.rbd("create", known, "--size", "16M");
    CLUSTER.rbd("migration", "prepare", known, CLUSTER.pool() + "/" + name);
    Volume migrated = byHand();
    stageAndUnstage(migrated);
    CLUSTER.rbd("migration", "execute", CLUSTER.pool() + "/" + name, "--no-progress");
    CLUSTER.rbd("migration", "commit", CLUSTER.pool() + "/" + name, "--no-progress");
    stageAndUnstage(migrated);
    CLUSTER.rbd("rm", CLUSTER.pool() + "/" + name, "--no-progress");
  }
}
