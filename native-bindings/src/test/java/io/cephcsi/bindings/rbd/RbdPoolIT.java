package io.cephcsi.bindings.rbd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.ceph.rbd.Rbd;
import com.fasterxml.jackson.databind.JsonNode;
import io.cephcsi.bindings.cls.ImageDirectory;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.TrashDirectory;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.error.Errno;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rados.WriteOperation;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class RbdPoolIT extends RbdCase {
  @Test
  void anImageMadeHereIsSeenByTheCommandLine() {
    pool.create(
        name,
        10L << 20,
        ImageOptions.builder().features(MAPPED).order(21).dataPool("rbd-data").build());

    JsonNode info = rbdJson("info", spec());
    assertThat(info.get("size").asLong()).isEqualTo(10L << 20);
    assertThat(info.get("order").asInt()).isEqualTo(21);
    assertThat(info.get("data_pool").asText()).isEqualTo("rbd-data");
    assertThat(info.get("features").toString()).contains("exclusive-lock", "fast-diff");
    assertThat(ImageId.find(pool, name)).contains(info.get("id").asText());
  }

  @Test
  void anImageOfTheCommandLineIsSeenHere() {
    ceph.rbd(
        "create",
        spec(),
        "--size",
        "7M",
        "--object-size",
        "1M",
        "--stripe-unit",
        "64K",
        "--stripe-count",
        "4",
        "--image-feature",
        "layering,exclusive-lock,journaling");
    JsonNode info = rbdJson("info", spec());

    try (RbdImage image = pool.open(name)) {
      assertThat(image.name()).isEqualTo(name);
      assertThat(image.id()).isEqualTo(info.get("id").asText());
      assertThat(image.blockNamePrefix()).isEqualTo(info.get("block_name_prefix").asText());
      assertThat(image.size()).isEqualTo(7L << 20);
      assertThat(image.info()).isEqualTo(new ImageInfo(7L << 20, 1L << 20, 8, 20));
      assertThat(image.stripeUnit()).isEqualTo(64 << 10);
      assertThat(image.stripeCount()).isEqualTo(4);
      assertThat(image.features())
          .containsExactlyInAnyOrder(
              ImageFeature.LAYERING,
              ImageFeature.EXCLUSIVE_LOCK,
              ImageFeature.JOURNALING,
              ImageFeature.STRIPINGV2);
      assertThat(image.operationFeatures()).isEmpty();
      assertThat(image.flags()).isEmpty();
      assertThat(image.createdAt())
          .isBetween(Instant.now().minusSeconds(600), Instant.now().plusSeconds(5));
      assertThat(image.dataPoolId()).isEqualTo(io.poolId());
      assertThat(image.parent()).isEmpty();
      assertThat(image.group()).isEmpty();
      assertThat(image.mirroring()).isEmpty();
      assertThat(image.overlap()).isZero();
    }
  }

  @Test
  void whatOneLibraryWritesTheOtherReads() throws Exception {
    Rbd other = new Rbd(otherClient());
    pool.create(name, 1 << 20, with(PLAIN));
    com.ceph.rbd.RbdImage theirs = other.open(name);
    theirs.write(filled(1000, 7), 5000, 1000);
    theirs.close();
    try (RbdImage ours = pool.open(name)) {
      assertThat(ours.read(5000, 1000)).isEqualTo(filled(1000, 7));
      assertThat(ours.read(4000, 1000)).isEqualTo(new byte[1000]);
      ours.write(6000, filled(300_000, 9));
    }
    theirs = other.open(name);
    byte[] back = new byte[300_000];
    assertThat(theirs.read(6000, back, back.length)).isEqualTo(back.length);
    assertThat(back).isEqualTo(filled(300_000, 9));
    assertThat(theirs.stat().size).isEqualTo(1 << 20);
    theirs.close();

    other.create(name + "-theirs", 3 << 20);
    try (RbdImage ours = pool.openReadOnly(name + "-theirs")) {
      assertThat(ours.size()).isEqualTo(3 << 20);
    }
  }

  @Test
  void aNameThatIsTakenAndOneThatIsMissingAreTold() {
    create(PLAIN, 1);
    assertThatThrownBy(() -> create(PLAIN, 1))
        .isInstanceOf(CephException.AlreadyExists.class)
        .hasMessageContaining(spec());
    assertThatThrownBy(() -> pool.open("missing-" + name))
        .isInstanceOf(CephException.NotFound.class);
    assertThatThrownBy(() -> pool.openById("123456")).isInstanceOf(CephException.NotFound.class);
    assertThatThrownBy(() -> pool.open(name, "no-snapshot"))
        .isInstanceOf(CephException.NotFound.class);
    assertThat(ImageId.find(pool, "missing-" + name)).isEmpty();
    assertThatThrownBy(() -> pool.remove("missing-" + name, Progress.NONE))
        .isInstanceOf(CephException.NotFound.class);
    assertThat(pool.trashEntry("123456")).isEmpty();
  }

  @Test
  void listsThatNeedALargerBufferAreComplete() {
    ceph.rbd("namespace", "create", ceph.pool() + "/many");
    try (IoContext manyIo = cluster.openPool(ceph.pool(), "many")) {
      RbdPool many = new RbdPool(manyIo);
      assertThat(many.list()).isEmpty();
      assertThat(TrashDirectory.list(manyIo)).isEmpty();
      assertThat(many.listGroups()).isEmpty();
      Map<String, String> ids = new HashMap<>();
      List<String> groups = new ArrayList<>();
      for (int i = 0; i < 200; i++) {
        String image = "a-rather-long-name-for-an-image-" + i;
        many.create(image, 1 << 20, with(PLAIN));
        ids.put(image, ImageId.find(many, image).orElseThrow());
        groups.add("a-rather-long-name-for-a-group-of-images-" + i);
        many.createGroup("a-rather-long-name-for-a-group-of-images-" + i);
      }
      Map<String, String> listed = new HashMap<>();
      many.list().forEach(image -> listed.put(image.name(), image.id()));
      assertThat(listed).isEqualTo(ids);
      assertThat(rbdJson("ls", ceph.pool() + "/many")).hasSize(200);
      assertThat(many.listGroups()).containsExactlyInAnyOrderElementsOf(groups);

      for (int i = 0; i < 100; i++) {
        many.moveToTrash("a-rather-long-name-for-an-image-" + i, Duration.ZERO);
      }
      assertThat(many.list()).hasSize(100);
      assertThat(listed(manyIo)).containsExactlyInAnyOrderElementsOf(many.list());
      assertThat(TrashDirectory.list(manyIo))
          .hasSize(100)
          .allSatisfy(entry -> assertThat(ids).containsEntry(entry.name(), entry.id()));
    }
  }

  @Test
  void renamingKeepsTheIdAndMayHappenWhileInUse() {
    create(PLAIN, 1);
    String id = ImageId.find(pool, name).orElseThrow();
    try (RbdImage image = pool.open(name)) {
      pool.rename(name, name + "-new");
      assertThat(image.id()).isEqualTo(id);
    }
    assertThat(ImageId.find(pool, name)).isEmpty();
    assertThat(ImageId.find(pool, name + "-new")).contains(id);
  }

  @Test
  void imagesInUseOrWithSnapshotsAreNotRemoved() {
    create(PLAIN, 4);
    try (RbdImage image = pool.open(name)) {
      fill(image, 0, 4, 1);
      assertThatThrownBy(() -> pool.remove(name, Progress.NONE))
          .isInstanceOf(CephException.Busy.class);
      image.snapshots().create("s");
    }
    assertThatThrownBy(() -> pool.remove(name, Progress.NONE))
        .isInstanceOfSatisfying(
            CephException.class, e -> assertThat(e.errno()).isEqualTo(Errno.ENOTEMPTY));
    ceph.rbd("snap", "rm", spec() + "@s");

    List<Long> seen = new ArrayList<>();
    pool.remove(
        name,
        (done, total) -> {
          seen.add(done);
          return true;
        });
    assertThat(seen).isNotEmpty().isSorted();
    assertThat(ImageId.find(pool, name)).isEmpty();
    assertThat(ceph.rbd("ls", ceph.pool())).doesNotContain(name);
  }

  private static Instant plusSecond(TrashEntry entry) {
    return entry.deletedAt().plusSeconds(1); // it is in whole seconds
  }

  /** By {@code rbd_trash_list} it would end the OSD. */
  @Test
  void aDamagedEntryOfTheTrashIsLeftOut() {
    create(PLAIN, 1);
    String id = ImageId.find(pool, name).orElseThrow();
    pool.moveToTrash(name, Duration.ZERO);
    List<String> damaged = List.of("id_00", "id_01", "id_zz");
    try (WriteOperation write = new WriteOperation()) {
      write.omapSet(damaged.get(0), new byte[] {1, 2, 3});
      write.omapSet(damaged.get(1), new byte[0]);
      write.omapSet(damaged.get(2), new byte[] {2, 1, -1, -1, -1, 127, 0, -1, -1, -1, 127});
      io.operate("rbd_trash", write);
    }
    assertThat(TrashDirectory.list(io))
        .extracting(TrashEntry::id)
        .contains(id)
        .doesNotContain("00", "01");
    assertThat(TrashDirectory.named(io, name)).map(TrashEntry::id).contains(id);
    try (WriteOperation write = new WriteOperation()) {
      io.operate("rbd_trash", write.omapRemove(damaged));
    }
    pool.removeFromTrash(id, false, Progress.NONE);
  }

  @Test
  void theTrashKeepsAnImageUntilItIsForcedOut() {
    create(PLAIN, 2);
    String id = ImageId.find(pool, name).orElseThrow();
    pool.moveToTrash(name, Duration.ofHours(1));

    TrashEntry entry = pool.trashEntry(id).orElseThrow();
    assertThat(entry.name()).isEqualTo(name);
    assertThat(entry.source()).isEqualTo(TrashSource.USER);
    assertThat(Duration.between(entry.deletedAt(), entry.deferredUntil()))
        .isEqualTo(Duration.ofHours(1));
    assertThat(TrashDirectory.list(io))
        .filteredOn(listed -> listed.id().equals(id))
        .singleElement()
        .satisfies(
            listed -> {
              assertThat(listed.name()).isEqualTo(name);
              assertThat(listed.source()).isEqualTo(TrashSource.USER);
              assertThat(listed.deletedAt()).isBetween(entry.deletedAt(), plusSecond(entry));
              assertThat(Duration.between(listed.deletedAt(), listed.deferredUntil()))
                  .isEqualTo(Duration.ofHours(1));
            });
    assertThat(rbdJson("trash", "ls", ceph.pool()).toString()).contains(id);
    assertThatThrownBy(() -> pool.open(name)).isInstanceOf(CephException.NotFound.class);
    try (RbdImage image = pool.openByIdReadOnly(id)) {
      assertThat(image.size()).isEqualTo(2 << 20);
    }
    assertThatThrownBy(() -> pool.removeFromTrash(id, false, Progress.NONE))
        .isInstanceOf(CephException.Denied.class);

    pool.restoreFromTrash(id, name + "-back");
    assertThat(ImageId.find(pool, name + "-back")).contains(id);
    ceph.rbd("trash", "mv", spec() + "-back");
    pool.restoreFromTrash(id, "");
    assertThat(ImageId.find(pool, name + "-back")).contains(id);

    pool.moveToTrash(name + "-back", Duration.ofHours(1));
    pool.removeFromTrash(id, true, Progress.NONE);
    assertThat(pool.trashEntry(id)).isEmpty();
    assertThatThrownBy(() -> pool.removeFromTrash(id, true, Progress.NONE))
        .isInstanceOf(CephException.NotFound.class);
  }

  @Test
  void anImageInUseMovesToTheTrashUnlessItsLockIsKept() {
    create(LOCKED, 2);
    String id = ImageId.find(pool, name).orElseThrow();
    try (RadosCluster other = ceph.connect();
        IoContext otherIo = other.openPool(ceph.pool());
        RbdImage image = pool.open(name)) {
      RbdPool theirs = new RbdPool(otherIo);
      image.lock().acquire();
      assertThatThrownBy(() -> theirs.moveToTrash(name, Duration.ZERO))
          .isInstanceOf(CephException.Busy.class);
      image.lock().release();
      theirs.moveToTrash(name, Duration.ZERO);
      assertThatThrownBy(() -> theirs.removeFromTrash(id, true, Progress.NONE))
          .isInstanceOf(CephException.Busy.class);
      assertThat(image.size()).isEqualTo(2 << 20);
    }
    pool.removeFromTrash(id, false, Progress.NONE);
  }

  private static List<ImageName> listed(IoContext io) {
    List<ImageName> images = new ArrayList<>();
    assertThat(ImageDirectory.all(io, (name, id) -> images.add(new ImageName(id, name)))).isTrue();
    return images;
  }

  @Test
  void aRemovalThatWasCancelledIsInTheTrashAndEndsWithTheNextOne() {
    create(MAPPED, 100);
    String id = ImageId.find(pool, name).orElseThrow();
    try (RbdImage image = pool.open(name)) {
      fill(image, 0, 100, 1);
    }
    assertThatThrownBy(() -> pool.remove(name, (done, total) -> done < 20))
        .isInstanceOf(CephException.Canceled.class);
    assertThat(ImageId.find(pool, name)).isEmpty();
    assertThat(pool.trashEntry(id).orElseThrow().source()).isEqualTo(TrashSource.REMOVING);
    assertThat(TrashDirectory.list(io)).extracting(TrashEntry::id).doesNotContain(id);
    assertThat(TrashDirectory.removing(io)).extracting(TrashEntry::name).contains(name);
    assertThat(listed(io))
        .contains(new ImageName(id, name))
        .containsExactlyInAnyOrderElementsOf(pool.list());
    pool.remove(name, Progress.NONE);
    assertThat(pool.trashEntry(id)).isEmpty();
  }

  @Test
  void aCloneInAnotherPoolReadsItsParentUntilItIsFlattened() {
    create(MAPPED, 4);
    long snapshotId;
    try (RbdImage image = pool.open(name)) {
      fill(image, 0, 2, 5);
      image.snapshots().create("s");
      snapshotId = image.snapshots().id("s");
    }
    try (IoContext otherIo = cluster.openPool(ceph.otherPool())) {
      RbdPool other = new RbdPool(otherIo);
      pool.cloneImage(
          name,
          "s",
          other,
          name + "-clone",
          ImageOptions.builder().features(MAPPED).cloneFormat(2).build());
      String parentId = ImageId.find(pool, name).orElseThrow();
      String cloneId = ImageId.find(other, name + "-clone").orElseThrow();
      try (RbdImage clone = other.open(name + "-clone");
          RbdImage parent = pool.open(name, "s")) {
        assertThat(clone.parent())
            .contains(
                new ParentImage(
                    io.poolId(),
                    ceph.pool(),
                    "",
                    parentId,
                    name,
                    false,
                    snapshotId,
                    "s",
                    SnapshotNamespace.USER));
        assertThat(clone.overlap()).isEqualTo(4 << 20);
        assertThat(clone.operationFeatures()).contains(OperationFeature.CLONE_CHILD);
        assertThat(clone.read(OBJECT, 10)).isEqualTo(filled(10, 5));
        ChildImage child =
            new ChildImage(otherIo.poolId(), ceph.otherPool(), "", cloneId, name + "-clone", false);
        assertThat(parent.children()).containsExactly(child);
        assertThat(parent.descendants()).containsExactly(child);
        assertThat(rbdJson("info", ceph.otherPool() + "/" + name + "-clone").get("parent"))
            .isNotNull();

        clone.flatten(Progress.NONE);
        assertThat(clone.parent()).isEmpty();
        assertThat(clone.read(OBJECT, 10)).isEqualTo(filled(10, 5));
        assertThat(parent.children()).isEmpty();
        assertThatThrownBy(() -> clone.flatten(Progress.NONE))
            .isInstanceOfSatisfying(
                CephException.class, e -> assertThat(e.errno()).isEqualTo(Errno.EINVAL));
      }
      other.remove(name + "-clone", Progress.NONE);
    }
  }

  @Test
  void aSnapshotWhoseCloneLivesMovesToTheTrashOfItsImage() {
    create(PLAIN, 1);
    try (RbdImage image = pool.open(name)) {
      image.snapshots().create("s");
      pool.cloneImage(
          name,
          "s",
          pool,
          name + "-clone",
          ImageOptions.builder().features(PLAIN).cloneFormat(2).build());
      long id = image.snapshots().id("s");
      image.snapshots().remove("s");
      assertThat(image.snapshots().list())
          .singleElement()
          .satisfies(
              snapshot -> {
                assertThat(snapshot.id()).isEqualTo(id);
                assertThat(snapshot.namespace()).isEqualTo(SnapshotNamespace.TRASH);
              });
      assertThat(image.snapshots().trashOriginalName(id)).isEqualTo("s");
      assertThat(image.operationFeatures())
          .isEqualTo(Set.of(OperationFeature.CLONE_PARENT, OperationFeature.SNAP_TRASH));
      image.snapshots().setActive(id);
      assertThat(image.children()).hasSize(1);
      image.snapshots().setActiveHead();
    }
    pool.moveToTrash(name, Duration.ZERO);
    try (RbdImage clone = pool.open(name + "-clone")) {
      ParentImage parent = clone.parent().orElseThrow();
      assertThat(parent.inTrash()).isTrue();
      assertThat(parent.imageName()).isEqualTo(name);
      assertThat(parent.snapshotNamespace()).isEqualTo(SnapshotNamespace.TRASH);
      assertThatThrownBy(() -> pool.removeFromTrash(parent.imageId(), true, Progress.NONE))
          .isInstanceOf(CephException.class);
      clone.flatten(Progress.NONE);
      pool.removeFromTrash(parent.imageId(), true, Progress.NONE);
    }
  }
}
