package io.cephcsi.driver.reclaim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.cls.HeaderLock;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.ImageLink;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.Progress;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.reclaim.ReclaimResult.Outcome;
import io.cephcsi.driver.testing.ForgedHeaders;
import io.cephcsi.driver.testing.MirrorDaemon;
import io.cephcsi.driver.volume.VolumeException;
import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneId;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Images that reclaim leaves alone, in a pool of their own, where mirroring can be on. */
class SkipReasonIT extends ReclaimCase {
  private static final int OBJECTS = 4;

  private static String own;
  private static IoContext space;
  private RbdPool there;

  @BeforeAll
  static void makePool() {
    own = "hindered-" + UUID.randomUUID();
    MirrorDaemon.makePool(ceph, own);
    space = cluster.openPool(own);
  }

  @AfterAll
  static void removePool() {
    space.close();
    ceph.ceph("osd", "pool", "rm", own, own, "--yes-i-really-really-mean-it");
  }

  @BeforeEach
  void choosePool() {
    there = new RbdPool(space);
  }

  private String spec() {
    return own + "/" + name;
  }

  /** An image of zeroes, all of which sparsify would free. */
  private void create(Set<ImageFeature> features) {
    there.create(name, 4L * MIB * OBJECTS, options().features(features).build());
    try (RbdImage image = there.open(name)) {
      for (int i = 0; i < OBJECTS; i++) {
        image.write(4L * MIB * i, new byte[MIB]);
      }
    }
  }

  private ReclaimResult reclaimThere(Map<String, String> parameters) {
    ReclaimPlan plan = ReclaimPlan.parse(parameters);
    return operate(
        operation -> reclaimer.reclaim(new TestTarget(ceph, there, name), plan, operation));
  }

  private ReclaimResult assertSkipped(String reason) {
    ReclaimResult result = reclaimThere(Map.of());
    assertThat(result.outcome()).isEqualTo(Outcome.SKIPPED);
    assertThat(result.trim().reason()).isEqualTo(reason);
    assertThat(result.reason()).isNotEmpty();
    assertThat(result.after()).isEqualTo(result.before());
    // Being skipped is no failure, also where a volume in use is to be one.
    assertThat(reclaimThere(Map.of("reclaim.inUse", "fail")).outcome()).isEqualTo(Outcome.SKIPPED);
    assertThat(reclaimThere(Map.of("reclaim.dryRun", "true")).outcome()).isEqualTo(Outcome.SKIPPED);
    return result;
  }

  private void assertReclaimed() {
    assertReclaimed(Map.of());
  }

  private void assertReclaimed(Map<String, String> parameters) {
    ReclaimResult result = reclaimed(reclaimThere(parameters));
    assertThat(result.before()).hasValue(4L * MIB * OBJECTS);
    assertThat(result.after()).hasValue(0);
  }

  /** Sparsify would have all data copied to the other site: it is done only if it is asked for. */
  private void assertReclaimedAsAMirroredImage() {
    for (Map<String, String> asked :
        List.of(Map.of("reclaim.dryRun", "true"), Map.<String, String>of())) {
      ReclaimResult result = reclaimThere(asked);
      assertThat(result.outcome()).isIn(Outcome.DONE, Outcome.DRY_RUN);
      assertThat(result.before()).hasValue(4L * MIB * OBJECTS);
      assertThat(result.after()).isEqualTo(result.before());
    }
    assertReclaimed(Map.of("reclaim.method", "sparsify"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"journal", "snapshot"})
  void aMirrorSecondaryIsSkippedUntilItIsPromoted(String mode) {
    Set<ImageFeature> features = new HashSet<>(MAPPED);
    if (mode.equals("journal")) {
      features.add(ImageFeature.JOURNALING);
    }
    create(features);
    ceph.rbd("mirror", "image", "enable", spec(), mode);
    ceph.rbd("mirror", "image", "demote", spec());
    assertThat(assertSkipped("mirror_secondary").before()).hasValue(4L * MIB * OBJECTS);
    ceph.rbd("mirror", "image", "promote", spec());
    assertReclaimedAsAMirroredImage();
    ceph.rbd("mirror", "image", "disable", spec());
  }

  @ParameterizedTest
  @ValueSource(strings = {"journal", "snapshot"})
  void whoMirrorsAPrimaryIsNoUser(String mode) {
    Set<ImageFeature> features = new HashSet<>(MAPPED);
    if (mode.equals("journal")) {
      features.add(ImageFeature.JOURNALING);
    }
    create(features);
    try (RbdImage user = there.open(name)) {
      assertThat(user.size()).isEqualTo(4L * MIB * OBJECTS);
      assertThat(reclaimThere(Map.of()).reason()).contains("in use"); // also if not mirrored
      ceph.rbd("mirror", "image", "enable", spec(), mode);
      try (MirrorDaemon daemon = new MirrorDaemon(ceph, own, name)) {
        assertThat(reclaimThere(Map.of()).reason()).contains("in use");
        assertThat(daemon.heard()).isNotEmpty();
      }
    }
    try (MirrorDaemon first = new MirrorDaemon(ceph, own, name);
        MirrorDaemon second = new MirrorDaemon(ceph, own, name)) {
      second.write();
      assertReclaimedAsAMirroredImage();
      assertThat(first.heard()).isNotEmpty().hasSameSizeAs(second.heard());
    }
    ceph.rbd("mirror", "image", "disable", spec());
  }

  @Test
  void aDaemonThatHasAnImageOpenWhichIsNotMirroredUsesIt() {
    create(MAPPED);
    try (MirrorDaemon daemon = new MirrorDaemon(ceph, own, name)) {
      assertThat(reclaimThere(Map.of()).reason()).contains("in use");
      assertThat(daemon.heard()).isEmpty();
    }
    assertReclaimed();
  }

  @Test
  void anImageInMigrationIsSkippedUntilItsEnd() {
    create(MAPPED);
    ceph.rbd("migration", "prepare", spec(), ceph.otherPool() + "/" + name);
    try (IoContext other = cluster.openPool(ceph.otherPool())) {
      // The source is not there under its name any more, but it is not gone either.
      assertSkipped("migrating");
      RbdPool source = there;
      there = new RbdPool(other);
      assertSkipped("migrating");
      ceph.rbd("migration", "execute", "--no-progress", ceph.otherPool() + "/" + name);
      assertSkipped("migrating");
      ceph.rbd("migration", "commit", "--no-progress", ceph.otherPool() + "/" + name);
      // The copy left the zeroes out.
      assertThat(reclaimed(reclaimThere(Map.of())).after()).hasValue(0);
      there = source;
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"rbd.csi.ceph.com/thick-provisioned", ".rbd.csi.ceph.com/thick-provisioned"})
  void anImageThatIsThickOnPurposeIsReclaimedWhenThatIsAskedFor(String key) {
    create(MAPPED);
    ceph.rbd("image-meta", "set", spec(), key, "true");
    ReclaimResult result = assertSkipped("thick_provisioned");
    assertThat(result.before()).hasValue(4L * MIB * OBJECTS);
    assertThat(result.reason()).contains("thick", "reclaim.thick");
    ReclaimResult foretold =
        reclaimThere(Map.of("reclaim.dryRun", "true", "reclaim.thick", "true"));
    assertThat(foretold.after()).hasValue(0);
    assertThat(reclaimed(reclaimThere(Map.of("reclaim.thick", "true"))).after()).hasValue(0);
  }

  @Test
  void anImageThatWasMadeThinIsReclaimed() {
    create(MAPPED);
    ceph.rbd("image-meta", "set", spec(), "rbd.csi.ceph.com/thick-provisioned", "false");
    assertReclaimed();
  }

  @Test
  void anImageInTheTrashIsSkippedUntilItIsRestored() {
    create(MAPPED);
    String id = ImageId.find(there, name).orElseThrow();
    there.moveToTrash(name, Duration.ofHours(1));
    ReclaimResult result = assertSkipped("trash");
    assertThat(result.reason()).contains(id);
    assertThat(result.before()).isEmpty();
    there.restoreFromTrash(id, "");
    assertReclaimed();
  }

  /** A client that is cut off for longer than its watch lasts: it will come back and go on. */
  @Test
  void theLockOfOneWhoDoesNotWatchIsLetBe() {
    create(MAPPED);
    String header = "rbd_header." + ImageId.find(there, name).orElseThrow();
    ceph.rados(
        "-p",
        own,
        "lock",
        "get",
        header,
        "rbd_lock",
        "--lock-cookie",
        "auto 1",
        "--lock-tag",
        "internal");
    String owner;
    try (RbdImage image = there.openReadOnly(name)) {
      owner = HeaderLock.holders(image.pool(), image.id()).get(0);
      ReclaimResult result = reclaimThere(Map.of());
      assertThat(result.outcome()).isEqualTo(Outcome.SKIPPED);
      assertThat(result.trim().reason()).isEqualTo("in_use");
      assertThat(result.reason()).contains(owner);
      assertThat(HeaderLock.holders(image.pool(), image.id())).containsExactly(owner);
    }
    assertThat(ceph.ceph("osd", "blocklist", "ls"))
        .doesNotContain(owner.replaceFirst("^v\\d:", ""));
    assertThatThrownBy(() -> reclaimThere(Map.of("reclaim.inUse", "fail")))
        .hasRootCauseInstanceOf(VolumeException.class);
    // Whoever may write to the image can name any owner, and any of them a reclaimer.
    ceph.rados("-p", own, "setomapval", header, "metadata_" + ReclaimLock.RECLAIMER, owner);
    ReclaimResult forged = reclaimThere(Map.of());
    assertThat(forged.outcome()).isEqualTo(Outcome.SKIPPED);
    assertThat(forged.reason()).contains(owner, ReclaimLock.RECLAIMER);
    assertThat(ceph.ceph("osd", "blocklist", "ls"))
        .doesNotContain(owner.replaceFirst("^v\\d:", ""));
  }

  @Test
  void theLockOfAReclaimerThatDiedIsBroken() {
    create(MAPPED);
    dieAtWork(new TestTarget(ceph, there, name));
    assertReclaimed();
    try (RbdImage image = there.openReadOnly(name)) {
      assertThat(HeaderLock.holders(image.pool(), image.id())).isEmpty();
      assertThat(image.metadata().get(ReclaimLock.RECLAIMER)).isEmpty();
    }
  }

  /**
   * It would send what had no answer once more when it goes on, hours later. An entry that is there
   * the cluster does not lengthen.
   */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aReclaimerThatDidNotEndIsShutOutForLong(boolean keepsLock) {
    create(MAPPED);
    String address;
    try (ReclaimTarget.Writable open = new TestTarget(ceph, there, name).open(Map.of())) {
      new ReclaimLock(open.image(), cluster).acquire();
      address = ReclaimLock.reclaimer(open.image()).orElseThrow().split(" ", 2)[0];
      if (keepsLock) { // by somebody else: this process does not know
        ceph.ceph("osd", "blocklist", "add", address, "600");
      }
    }
    try (RbdImage image = there.openReadOnly(name)) {
      Awaitility.await().until(() -> image.watchers().isEmpty());
      assertThat(HeaderLock.holders(there, image.id())).hasSize(keepsLock ? 1 : 0);
      assertThat(image.metadata().get(ReclaimLock.RECLAIMER)).isPresent();
    }
    assertReclaimed();
    String entry =
        ceph.ceph("osd", "blocklist", "ls")
            .lines()
            .filter(line -> line.contains(address.replaceFirst("^v\\d:", "")))
            .findFirst()
            .orElseThrow();
    LocalDate until =
        LocalDate.parse(entry.substring(entry.indexOf(' ') + 1).strip().substring(0, 10));
    LocalDate late = LocalDate.now(ZoneId.systemDefault()).plusDays(27);
    assertThat(until.isAfter(late)).isEqualTo(!keepsLock);
  }

  /** Leaves the lock of a client that cannot give it back. */
  private void dieAtWork(TestTarget target) {
    try (ReclaimTarget.Writable open = target.open(Map.of())) {
      ReclaimLock lock = new ReclaimLock(open.image(), cluster);
      lock.acquire();
      lock.fence();
    }
    try (RbdImage image = there.openReadOnly(name)) {
      Awaitility.await().until(() -> image.watchers().isEmpty());
      assertThat(HeaderLock.holders(image.pool(), image.id())).hasSize(1);
      assertThat(image.metadata().get(ReclaimLock.RECLAIMER)).isPresent();
    }
  }

  /** Nobody could keep a discard that is late from what the next user of the image writes. */
  @Test
  void whoMayNotBlocklistTrimsNothing() {
    create(MAPPED);
    ReclaimPlan plan = ReclaimPlan.parse(Map.of());
    try (RadosCluster weak =
            RadosCluster.connect(
                TestTarget.weak(ceph, "weak").option("rbd_cache", "false").build());
        IoContext weakIo = weak.openPool(own)) {
      TestTarget target = new TestTarget(ceph, new RbdPool(weakIo), name, "weak");
      ReclaimResult result = operate(operation -> reclaimer.reclaim(target, plan, operation));
      assertThat(result.trim().reason()).isEqualTo("may_not_blocklist");
      assertThat(reclaimed(result).after()).hasValue(0); // sparsify needs no such right
      dieAtWork(target); // librbd would try to break the lock for ever
      ReclaimResult barred = operate(operation -> reclaimer.reclaim(target, plan, operation));
      assertThat(barred.outcome()).isEqualTo(Outcome.GAVE_WAY);
      assertThat(barred.reason()).contains("blocklist");
    }
    // What one user left proves nothing to another.
    assertThat(reclaimThere(Map.of()).trim().reason()).isEqualTo("in_use");
  }

  /** A client of the kernel that lost its watch writes on when it comes back. */
  @Test
  void anImageWithoutTheLockThatANodeHasIsNotTrimmed() {
    create(Set.of(ImageFeature.LAYERING));
    Published published = new Published(new TestTarget(ceph, there, name));
    ReclaimPlan plan = ReclaimPlan.parse(Map.of("reclaim.enableLock", "true"));
    ReclaimResult result = operate(operation -> reclaimer.reclaim(published, plan, operation));
    assertThat(result.trim().reason()).isEqualTo("published");
    assertThat(result.trim().detail()).contains("node-1");
    // So is a lock that was taken by hand, which needs no feature.
    ceph.rbd("lock", "add", spec(), "mine");
    try (RbdImage image = there.openReadOnly(name)) {
      assertThat(image.features()).doesNotContain(ImageFeature.EXCLUSIVE_LOCK);
    }
    ReclaimResult locked = reclaimThere(Map.of("reclaim.enableLock", "true"));
    assertThat(locked.trim().reason()).isEqualTo("in_use");
  }

  /** Who may write to the pool would have data of another pool copied into the own image. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void anImageThatGetsAParentOfAnotherPoolAfterTheCheckIsNotTouched(boolean stays) {
    create(MAPPED);
    String other = ceph.otherPool() + "/" + name;
    ceph.rbd("create", other, "--size", "16M");
    ceph.rbd("snap", "create", other + "@one", "--no-progress");
    String id = ImageId.find(there, name).orElseThrow();
    ForgedHeaders headers = new ForgedHeaders(ceph, own);
    try (IoContext others = cluster.openPool(ceph.otherPool())) {
      String parent = ImageId.find(new RbdPool(others), name).orElseThrow();
      long snapshot = ImageHeader.read(others, parent).orElseThrow().snapshotIds().get(0);
      ImageLink link = new ImageLink(others.poolId(), "", parent);
      Runnable forge = () -> headers.parent(id, link, snapshot, 16 * MIB);
      Runnable restore = stays ? () -> {} : () -> headers.noParent(id);
      Forged forged = new Forged(new TestTarget(ceph, there, name), forge, restore);
      List<String> objects = space.objects();
      assertThatThrownBy(
              () ->
                  operate(
                      operation ->
                          reclaimer.reclaim(forged, ReclaimPlan.parse(Map.of()), operation)))
          .hasRootCauseInstanceOf(CephException.class)
          .rootCause()
          .hasMessageContaining(stays ? "does not list it as a clone" : "its parent was changed");
      assertThat(space.objects()).hasSameElementsAs(objects);
      if (stays) {
        headers.noParent(id);
      }
    }
    ceph.rbd("snap", "rm", other + "@one", "--no-progress");
    ceph.rbd("rm", other, "--no-progress");
    assertReclaimed();
  }

  /** Its header still names the parent, which only the snapshot needs; librbd opens none. */
  @Test
  void aCloneThatIsFlattenedButForItsSnapshotIsReclaimed() {
    Set<ImageFeature> features = Set.of(ImageFeature.LAYERING, ImageFeature.EXCLUSIVE_LOCK);
    String parent = name + "-parent";
    there.create(parent, 4L * MIB * OBJECTS, options().features(features).build());
    try (RbdImage image = there.open(parent)) {
      image.snapshots().create("s");
      image.snapshots().protect("s");
    }
    there.cloneImage(parent, "s", there, name, options().features(features).build());
    try (RbdImage image = there.open(name)) {
      image.write(0, new byte[MIB]);
      image.snapshots().create("one");
      image.flatten(Progress.NONE);
    }
    try (RbdImage image = there.openReadOnly(name)) {
      assertThat(image.parent()).isEmpty();
      assertThat(ImageHeader.read(space, image.id()).orElseThrow().parent()).isPresent();
    }
    assertThat(reclaimed(reclaimThere(Map.of())).reason()).isEmpty();
  }

  /** An image whose header is changed while it is opened for writing. */
  private record Forged(TestTarget target, Runnable before, Runnable after)
      implements WrappedTarget {
    @Override
    public Writable open(Map<String, String> options) {
      before.run();
      try {
        return target.open(options);
      } finally {
        after.run();
      }
    }
  }

  /** The volume of a node that the cluster does not see. */
  private record Published(TestTarget target) implements WrappedTarget {
    @Override
    public List<String> nodes() {
      return List.of("node-1");
    }
  }

  @Test
  void anImageThatIsNowhereIsMissing() {
    assertThatThrownBy(() -> reclaimThere(Map.of()))
        .hasCauseInstanceOf(CephException.NotFound.class);
  }
}
