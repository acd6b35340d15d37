package io.cephcsi.bindings.rbd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.ceph.rbd.Rbd;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import java.time.Instant;
import org.junit.jupiter.api.Test;

class ImageSnapshotsIT extends RbdCase {
  @Test
  void snapshotsOfEachClientAreSeenByTheOthers() throws Exception {
    create(MAPPED, 4);
    try (RbdImage image = pool.open(name)) {
      ImageSnapshots snapshots = image.snapshots();
      assertThat(snapshots.list()).isEmpty();
      snapshots.create("ours", SnapshotCreation.SKIP_QUIESCE);
      ceph.rbd("snap", "create", spec() + "@command-line");
      com.ceph.rbd.RbdImage theirs = new Rbd(otherClient()).open(name);
      theirs.snapCreate("theirs");
      assertThat(theirs.snapList()).extracting(s -> s.name).contains("ours", "theirs");
      theirs.close();

      image.resize(8L * OBJECT, false, Progress.NONE);
      assertThat(snapshots.list())
          .hasSize(3)
          .allSatisfy(
              snapshot -> {
                assertThat(snapshot.size()).isEqualTo(4L * OBJECT);
                assertThat(snapshot.namespace()).isEqualTo(SnapshotNamespace.USER);
                assertThat(snapshots.id(snapshot.name())).isEqualTo(snapshot.id());
                assertThat(snapshots.timestamp(snapshot.id()))
                    .isBetween(Instant.now().minusSeconds(600), Instant.now().plusSeconds(5));
              })
          .extracting(ImageSnapshot::name)
          .containsExactlyInAnyOrder("ours", "command-line", "theirs");
      assertThat(rbdJson("snap", "ls", spec())).hasSize(3);
      assertThat(snapshots.exists("ours")).isTrue();
      snapshots.rename("ours", "renamed");
      assertThat(snapshots.exists("ours")).isFalse();
      snapshots.removeById(snapshots.id("renamed"));
      snapshots.remove("theirs");
      ceph.rbd("snap", "rm", spec() + "@command-line");
      assertThat(snapshots.list()).isEmpty();
    }
  }

  @Test
  void aListLongerThanTheFirstBufferIsComplete() {
    create(PLAIN, 1);
    try (RbdImage image = pool.open(name)) {
      for (int i = 0; i < 40; i++) {
        image.snapshots().create("snapshot-" + i);
      }
      assertThat(image.snapshots().list())
          .hasSize(40)
          .extracting(ImageSnapshot::name)
          .contains("snapshot-0", "snapshot-39");
    }
  }

  @Test
  void aProtectedSnapshotIsNotRemoved() {
    create(PLAIN, 1);
    try (RbdImage image = pool.open(name)) {
      ImageSnapshots snapshots = image.snapshots();
      snapshots.create("s");
      assertThat(snapshots.isProtected("s")).isFalse();
      snapshots.protect("s");
      assertThat(snapshots.isProtected("s")).isTrue();
      assertThat(rbdJson("snap", "ls", spec()).get(0).get("protected").asText()).isEqualTo("true");
      assertThatThrownBy(() -> snapshots.protect("s")).isInstanceOf(CephException.Busy.class);
      assertThatThrownBy(() -> snapshots.remove("s")).isInstanceOf(CephException.Busy.class);
      pool.cloneImage(
          name,
          "s",
          pool,
          name + "-clone",
          ImageOptions.builder().features(PLAIN).cloneFormat(1).build());
      assertThatThrownBy(() -> snapshots.unprotect("s")).isInstanceOf(CephException.Busy.class);
      pool.remove(name + "-clone", Progress.NONE);
      snapshots.unprotect("s");
      assertThatThrownBy(() -> snapshots.unprotect("s"))
          .isInstanceOfSatisfying(
              CephException.class, e -> assertThat(e.errno()).isEqualTo(Errno.EINVAL));
      snapshots.protect("s");
      snapshots.remove("s", SnapshotRemoval.UNPROTECT);
      assertThat(snapshots.list()).isEmpty();
    }
  }

  @Test
  void aSnapshotThatACloneNeedsStaysInTheTrashUntilTheCloneGoes() {
    create(PLAIN, 1);
    try (RbdImage image = pool.open(name)) {
      ImageSnapshots snapshots = image.snapshots();
      snapshots.create("s");
      long id = snapshots.id("s");
      pool.cloneImage(
          name, "s", pool, name + "-clone", ImageOptions.builder().cloneFormat(2).build());
      snapshots.removeById(id);
      assertThat(snapshots.list())
          .singleElement()
          .satisfies(left -> assertThat(left.namespace()).isEqualTo(SnapshotNamespace.TRASH));
      assertThatThrownBy(() -> snapshots.removeById(id)).isInstanceOf(CephException.Busy.class);
      pool.remove(name + "-clone", Progress.NONE);
      assertThat(snapshots.list()).isEmpty();
      assertThatThrownBy(() -> snapshots.removeById(id)).isInstanceOf(CephException.NotFound.class);
    }
  }

  @Test
  void anActiveSnapshotIsReadAndCannotBeWritten() {
    create(PLAIN, 2);
    try (RbdImage image = pool.open(name)) {
      fill(image, 0, 1, 1);
      image.snapshots().create("s");
      fill(image, 0, 1, 2);
      image.resize(OBJECT, true, Progress.NONE);
      image.snapshots().setActive("s");
      assertThat(image.size()).isEqualTo(2L * OBJECT);
      assertThat(image.read(0, 1)).isEqualTo(filled(1, 1));
      assertThatThrownBy(() -> image.write(0, filled(1, 1)))
          .isInstanceOfSatisfying(
              CephException.class, e -> assertThat(e.errno()).isEqualTo(Errno.EROFS));
      image.snapshots().setActiveHead();
      assertThat(image.read(0, 1)).isEqualTo(filled(1, 2));
      try (RbdImage snapshot = pool.openReadOnly(name, "s");
          RbdImage byId = pool.openById(image.id(), "s")) {
        assertThat(snapshot.read(0, 1)).isEqualTo(byId.read(0, 1)).isEqualTo(filled(1, 1));
      }
      image.snapshots().rollback("s", Progress.NONE);
      assertThat(image.size()).isEqualTo(2L * OBJECT);
      assertThat(image.read(0, 1)).isEqualTo(filled(1, 1));
    }
  }

  @Test
  void missingAndTakenNamesAreTold() {
    create(PLAIN, 1);
    try (RbdImage image = pool.open(name)) {
      ImageSnapshots snapshots = image.snapshots();
      snapshots.create("s");
      assertThatThrownBy(() -> snapshots.create("s"))
          .isInstanceOf(CephException.AlreadyExists.class)
          .hasMessageContaining("@s");
      assertThat(snapshots.exists("missing")).isFalse();
      assertThatThrownBy(() -> snapshots.id("missing")).isInstanceOf(CephException.NotFound.class);
      assertThatThrownBy(() -> snapshots.remove("missing"))
          .isInstanceOf(CephException.NotFound.class);
      assertThatThrownBy(() -> snapshots.setActive("missing"))
          .isInstanceOf(CephException.NotFound.class);
      assertThatThrownBy(() -> snapshots.trashOriginalName(snapshots.id("s")))
          .isInstanceOfSatisfying(
              CephException.class, e -> assertThat(e.errno()).isEqualTo(Errno.EINVAL));
    }
  }
}
