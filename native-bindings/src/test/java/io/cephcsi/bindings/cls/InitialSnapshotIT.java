package io.cephcsi.bindings.cls;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.ReadOperation;
import io.cephcsi.bindings.rados.SnapshotId;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.Progress;
import io.cephcsi.bindings.rbd.RbdCase;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.SnapshotNamespace;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class InitialSnapshotIT extends RbdCase {
  private static final Set<ImageFeature> SIMPLE =
      Set.of(ImageFeature.LAYERING, ImageFeature.DEEP_FLATTEN);

  @Test
  void isWhatLibrbdTakesAndHoldsTheContent() {
    create(SIMPLE, 4);
    try (RbdImage image = pool.open(name)) {
      fill(image, 0, 2, 7);
      image.snapshots().create("theirs");
    }
    String id = ImageId.find(pool, name).orElseThrow();
    try (InitialSnapshot snapshot = InitialSnapshot.prepare(pool)) {
      assertThat(snapshot.take(id, "mine")).isTrue();
    }

    try (RbdImage image = pool.open(name)) {
      fill(image, 0, 1, 9);
    }
    try (RbdImage then = pool.openReadOnly(name, "mine")) {
      assertThat(then.read(0, 2 * OBJECT)).isEqualTo(filled(2 * OBJECT, 7));
    }
    Map<Long, byte[]> records = records(id);
    List<HeaderSnapshot> snapshots =
        ImageHeader.snapshots(io, id, ImageHeader.read(io, id).orElseThrow().snapshotIds());
    assertThat(snapshots).extracting(HeaderSnapshot::name).containsExactly("mine", "theirs");
    assertThat(snapshots).extracting(HeaderSnapshot::size).containsOnly(4L * OBJECT);
    assertThat(snapshots)
        .extracting(HeaderSnapshot::namespace)
        .containsOnly(SnapshotNamespace.USER);
    assertThat(records.get(snapshots.get(0).id())).hasSize(lengthOf(records, snapshots, -2));
    ceph.rbd("clone", "--rbd-default-clone-format", "2", spec() + "@mine", spec() + "-child");
    ceph.rbd("rm", spec() + "-child");
    ceph.rbd("snap", "rm", spec() + "@mine");
    assertThat(rbdJson("snap", "ls", spec())).hasSize(1);
  }

  /** The records differ by the names only: "mine" is two bytes shorter than "theirs". */
  private static int lengthOf(
      Map<Long, byte[]> records, List<HeaderSnapshot> snapshots, int difference) {
    return records.get(snapshots.get(1).id()).length + difference;
  }

  private static Map<Long, byte[]> records(String id) {
    Map<Long, byte[]> records = new TreeMap<>();
    try (ReadOperation read = new ReadOperation()) {
      var values = read.omapGetVals("", "snapshot_", 100);
      io.operate("rbd_header." + id, read);
      values
          .get()
          .values()
          .forEach((key, value) -> records.put(Long.parseLong(key.substring(9), 16), value));
    }
    return records;
  }

  /** The only images that it is used for. */
  @Test
  void aCloneIsSimple() {
    create(MAPPED, 2);
    String child = name + "-child";
    try (RbdImage image = pool.open(name)) {
      fill(image, 0, 2, 7);
      image.snapshots().create("one");
    }
    ImageOptions options = ImageOptions.builder().features(SIMPLE).cloneFormat(2).build();
    pool.cloneImage(name, "one", pool, child, options);

    try (InitialSnapshot snapshot = InitialSnapshot.prepare(pool)) {
      assertThat(snapshot.take(ImageId.find(pool, child).orElseThrow(), "own")).isTrue();
    }

    try (RbdImage then = pool.openReadOnly(child, "own")) {
      assertThat(then.read(0, 2 * OBJECT)).isEqualTo(filled(2 * OBJECT, 7));
    }
    String grandchild = name + "-grandchild";
    pool.cloneImage(child, "own", pool, grandchild, options);
    ceph.rbd("snap", "rm", ceph.pool() + "/" + child + "@own");
    try (RbdImage image = pool.open(grandchild)) {
      assertThat(image.read(OBJECT, OBJECT)).isEqualTo(filled(OBJECT, 7));
    }
  }

  @Test
  void aNameIsTakenOnce() {
    create(SIMPLE, 1);
    String id = ImageId.find(pool, name).orElseThrow();
    try (InitialSnapshot first = InitialSnapshot.prepare(pool);
        InitialSnapshot second = InitialSnapshot.prepare(pool)) {
      assertThat(first.take(id, "one")).isTrue();
      assertThatThrownBy(() -> second.take(id, "one"))
          .isInstanceOf(CephException.AlreadyExists.class);
    }
    assertThat(rbdJson("snap", "ls", spec())).hasSize(1);
  }

  @Test
  void isRemovedFromACloneThatCannotBeOpenedAsItsOriginIsGone() {
    create(MAPPED, 1);
    String child = name + "-child";
    long origin;
    try (RbdImage image = pool.open(name)) {
      image.snapshots().create("one");
      origin = image.snapshots().id("one");
    }
    ImageOptions options = ImageOptions.builder().features(SIMPLE).cloneFormat(2).build();
    pool.cloneImage(name, "one", pool, child, options);
    long own;
    try (RbdImage image = pool.open(child)) {
      image.snapshots().create("own");
      own = image.snapshots().id("own");
    }
    String header = "rbd_header." + ImageId.find(pool, name).orElseThrow();
    for (String key : List.of("snapshot_%016x", "snap_children_%016x")) {
      ceph.rados("-p", ceph.pool(), "rmomapkey", header, String.format(key, origin));
    }
    assertThatThrownBy(() -> pool.open(child)).isInstanceOf(CephException.NotFound.class);
    String id = ImageId.find(pool, child).orElseThrow();

    assertThatThrownBy(() -> InitialSnapshot.remove(pool, id, own + 1_000_000))
        .isInstanceOf(CephException.NotFound.class);
    assertThat(InitialSnapshot.remove(pool, id, own)).isTrue();

    assertThat(ImageHeader.read(io, id).orElseThrow().snapshotIds()).isEmpty();
    pool.remove(child, Progress.NONE);
    assertThat(ImageHeader.read(io, id)).isEmpty();
  }

  @Test
  void isNotRemovedWhileACloneNeedsItOrTheImageHasALock() {
    create(SIMPLE, 1);
    String id = ImageId.find(pool, name).orElseThrow();
    try (InitialSnapshot snapshot = InitialSnapshot.prepare(pool)) {
      assertThat(snapshot.take(id, "one")).isTrue();
    }
    long one = ImageHeader.read(io, id).orElseThrow().snapshotIds().get(0);
    String child = name + "-child";
    pool.cloneImage(
        name, "one", pool, child, ImageOptions.builder().features(LOCKED).cloneFormat(2).build());
    assertThatThrownBy(() -> InitialSnapshot.remove(pool, id, one))
        .isInstanceOf(CephException.Busy.class);
    assertThat(InitialSnapshot.remove(pool, ImageId.find(pool, child).orElseThrow(), one))
        .isFalse();
    pool.remove(child, Progress.NONE);
  }

  @Test
  void whatHasANewerSnapshotIsLeftToLibrbd() {
    create(SIMPLE, 1);
    String id = ImageId.find(pool, name).orElseThrow();
    try (InitialSnapshot late = InitialSnapshot.prepare(pool);
        InitialSnapshot quick = InitialSnapshot.prepare(pool)) {
      assertThat(quick.take(id, "one")).isTrue();
      assertThat(late.take(id, "two")).isFalse();
      try (RbdImage image = pool.open(name)) {
        image.snapshots().create("two");
      }
      assertThat(late.take(id, "three")).isFalse();
    }
    assertThat(rbdJson("snap", "ls", spec())).hasSize(2);
  }

  @Test
  void whatHasALockOrADataPoolIsLeftToLibrbd() {
    create(LOCKED, 1);
    String locked = ImageId.find(pool, name).orElseThrow();
    String apart = name + "-apart";
    pool.create(
        apart, OBJECT, ImageOptions.builder().features(SIMPLE).dataPool("rbd-data").build());
    try (InitialSnapshot snapshot = InitialSnapshot.prepare(pool)) {
      assertThat(snapshot.take(locked, "one")).isFalse();
      assertThat(snapshot.take(ImageId.find(pool, apart).orElseThrow(), "one")).isFalse();
      assertThatThrownBy(() -> snapshot.take("0123456789ab", "one"))
          .isInstanceOf(CephException.NotFound.class);
    }
    assertThat(rbdJson("snap", "ls", spec())).isEmpty();
  }

  @Test
  void idsGrowAndOneThatIsGivenBackStaysUnused() {
    long first;
    try (SnapshotId id = SnapshotId.allocate(io)) {
      first = id.await();
    }
    try (SnapshotId one = SnapshotId.allocate(io);
        SnapshotId other = SnapshotId.allocate(io)) {
      assertThat(Set.of(one.await(), other.await())).hasSize(2).allMatch(id -> id > first);
    }
  }

  @Test
  void metadataIsThatOfTheCommandLine() {
    create(SIMPLE, 1);
    String id = ImageId.find(pool, name).orElseThrow();
    ceph.rbd("image-meta", "set", spec(), "theirs", "1");
    ceph.rbd("image-meta", "set", spec(), "kept", "ä 2");

    HeaderMetadata.change(
        io, id, Map.of("mine", "3", "long/name", "x".repeat(5000)), List.of("theirs"));

    assertThat(HeaderMetadata.read(io, id, List.of("theirs", "kept", "mine", "none")))
        .isEqualTo(Map.of("kept", "ä 2", "mine", "3"));
    assertThat(rbdJson("image-meta", "list", spec()).get("long/name").asText()).hasSize(5000);
    assertThat(rbdJson("image-meta", "list", spec())).hasSize(3);
    assertThatThrownBy(() -> HeaderMetadata.change(io, "0123456789ab", Map.of("a", "b"), List.of()))
        .isInstanceOf(CephException.NotFound.class);
  }
}
