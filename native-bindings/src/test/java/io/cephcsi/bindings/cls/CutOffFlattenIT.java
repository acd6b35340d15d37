package io.cephcsi.bindings.cls;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.Progress;
import io.cephcsi.bindings.rbd.RbdCase;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.testing.CutOffHeader;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class CutOffFlattenIT extends RbdCase {
  private static final ImageOptions CLONE =
      ImageOptions.builder()
          .features(EnumSet.of(ImageFeature.LAYERING, ImageFeature.DEEP_FLATTEN))
          .cloneFormat(2)
          .build();

  private String parentId;
  private long snapshot;

  private String clone(String of, String snapshotName, String clone) {
    try (RbdImage image = pool.open(of)) {
      image.snapshots().create(snapshotName);
    }
    pool.cloneImage(of, snapshotName, pool, clone, CLONE);
    return ImageId.find(pool, clone).orElseThrow();
  }

  /** A clone with a snapshot, as that of a CSI snapshot, of an image with content. */
  private String make() {
    create(Set.of(ImageFeature.LAYERING), 2);
    try (RbdImage image = pool.open(name)) {
      fill(image, 0, 1, 7);
    }
    String id = clone(name, "s", name + "-clone");
    ImageHeader header = ImageHeader.read(io, id).orElseThrow();
    parentId = header.parent().orElseThrow().imageId();
    snapshot = header.parentSnapshot();
    try (RbdImage image = pool.open(name + "-clone")) {
      image.snapshots().create("older");
      image.snapshots().create("own");
    }
    return id;
  }

  /** As librbd leaves it: all but the last step of a flattening. */
  private void flattenButForTheEnd(String id) {
    CutOffHeader before = CutOffHeader.read(io, id);
    try (RbdImage image = pool.open(name + "-clone")) {
      image.flatten(Progress.NONE);
    }
    before.putBack(io);
  }

  private void removeParent() {
    ceph.rbd("snap", "rm", "--no-progress", spec() + "@s");
    ceph.rbd("rm", "--no-progress", spec());
  }

  private void removeClone() {
    ceph.rbd("snap", "purge", "--no-progress", spec() + "-clone");
    ceph.rbd("rm", "--no-progress", spec() + "-clone");
  }

  @Test
  void aCloneThatCannotBeOpenedAnyMoreHasItsDataAgain() {
    String id = make();
    flattenButForTheEnd(id);
    removeParent();
    assertThatThrownBy(() -> pool.open(name + "-clone").close())
        .isInstanceOf(CephException.NotFound.class);
    assertThat(CutOffFlatten.end(io, id)).isTrue();
    try (RbdImage image = pool.openReadOnly(name + "-clone", "own")) {
      assertThat(image.read(0, OBJECT)).isEqualTo(filled(OBJECT, 7));
    }
    assertThat(ImageHeader.read(io, id).orElseThrow().parent()).isEmpty();
    assertThat(CutOffFlatten.end(io, id)).isFalse();
    removeClone();
  }

  /** The snapshot itself says that it shows a part of the parent. */
  /** A header that is restored has the parent's data back, for a clone that still names it. */
  @Test
  void aCloneOfAParentWhoseHeaderWasLostStaysOne() {
    String id = make();
    flattenButForTheEnd(id);
    ceph.rbd("snap", "rm", "--no-progress", spec() + "@s");
    io.remove("rbd_header." + parentId);
    assertThat(CutOffFlatten.end(io, id)).isFalse();
    rados("setomapval", "rbd_trash", "id_" + parentId, "damaged");
    rados("rmomapkey", "rbd_directory", "id_" + parentId);
    rados("rmomapkey", "rbd_directory", "name_" + name);
    assertThat(CutOffFlatten.end(io, id)).as("in the trash").isFalse();
    rados("rmomapkey", "rbd_trash", "id_" + parentId);
    assertThat(CutOffFlatten.end(io, id)).as("removed").isTrue();
    rados("rm", "rbd_id." + name);
    removeClone();
  }

  private void rados(String... args) {
    ceph.rados(Stream.concat(Stream.of("-p", ceph.pool()), Stream.of(args)).toArray(String[]::new));
  }

  @Test
  void aSnapshotOfSuchACloneIsClonedOnlyWhenItIsEnded() {
    String id = make();
    flattenButForTheEnd(id);
    removeParent();
    for (String snapshotName : List.of("own", "older")) {
      assertThatThrownBy(
              () ->
                  pool.cloneImage(
                      name + "-clone", snapshotName, pool, name + "-" + snapshotName, CLONE))
          .isInstanceOf(CephException.NotFound.class);
      assertThat(ImageId.find(pool, name + "-" + snapshotName)).isEmpty();
    }
    assertThat(CutOffFlatten.end(io, id)).isTrue();
    for (String snapshotName : List.of("own", "older")) {
      pool.cloneImage(name + "-clone", snapshotName, pool, name + "-" + snapshotName, CLONE);
      try (RbdImage image = pool.openReadOnly(name + "-" + snapshotName)) {
        assertThat(image.read(0, OBJECT)).isEqualTo(filled(OBJECT, 7));
      }
      ceph.rbd("rm", "--no-progress", spec() + "-" + snapshotName);
    }
    removeClone();
  }

  @Test
  void oneWhoseParentIsStillThereIsEndedBeforeThatGoes() {
    String id = make();
    flattenButForTheEnd(id);
    assertThat(ImageHeader.children(io, parentId, snapshot)).isEmpty();
    assertThat(CutOffFlatten.end(io, id)).isTrue();
    removeParent();
    try (RbdImage image = pool.openReadOnly(name + "-clone")) {
      assertThat(image.read(0, OBJECT)).isEqualTo(filled(OBJECT, 7));
    }
    removeClone();
  }

  @Test
  void oneAmongTheAncestorsIsFound() {
    String id = make();
    String youngest = clone(name + "-clone", "again", name + "-youngest");
    flattenButForTheEnd(id);
    removeParent();
    assertThatThrownBy(() -> pool.open(name + "-youngest").close())
        .isInstanceOf(CephException.NotFound.class);
    assertThat(CutOffFlatten.end(io, youngest)).isTrue();
    try (RbdImage image = pool.openReadOnly(name + "-youngest")) {
      assertThat(image.read(0, OBJECT)).isEqualTo(filled(OBJECT, 7));
    }
    ceph.rbd("rm", "--no-progress", spec() + "-youngest");
    removeClone();
  }

  @Test
  void aCloneThatItsParentListsStaysOne() {
    String id = make();
    assertThat(CutOffFlatten.end(io, id)).isFalse();
    assertThat(ImageHeader.read(io, id).orElseThrow().parent()).isPresent();
    assertThat(CutOffFlatten.end(io, parentId)).isFalse();
    assertThat(CutOffFlatten.end(io, "none")).isFalse();
    removeClone();
    removeParent();
  }

  @Test
  void aCloneOfFormat1IsListedNowhereAndStaysOne() {
    create(Set.of(ImageFeature.LAYERING), 1);
    ceph.rbd("snap", "create", "--no-progress", spec() + "@s");
    ceph.rbd("snap", "protect", spec() + "@s");
    ceph.rbd("clone", "--rbd-default-clone-format", "1", spec() + "@s", spec() + "-clone");
    String id = ImageId.find(pool, name + "-clone").orElseThrow();
    assertThat(CutOffFlatten.end(io, id)).isFalse();
    assertThat(ImageHeader.read(io, id).orElseThrow().parent()).isPresent();
    ceph.rbd("rm", "--no-progress", spec() + "-clone");
    ceph.rbd("snap", "unprotect", spec() + "@s");
    removeParent();
  }
}
