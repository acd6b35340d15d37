package io.cephcsi.bindings.cls;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.ClassCall;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.bindings.rbd.ImageFeature;
import io.cephcsi.bindings.rbd.ImageOptions;
import io.cephcsi.bindings.rbd.Progress;
import io.cephcsi.bindings.rbd.RbdCase;
import io.cephcsi.bindings.rbd.RbdImage;
import java.util.EnumSet;
import java.util.Set;
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
      image.snapshots().create("own");
    }
    return id;
  }

  /** As librbd leaves it: all but the last step of a flattening. */
  private void flattenButForTheEnd(String id) {
    ImageHeader before = ImageHeader.read(io, id).orElseThrow();
    try (RbdImage image = pool.open(name + "-clone")) {
      image.flatten(Progress.NONE);
    }
    ClassCall link = ClassCall.content().u64(io.poolId()).string("").string(parentId).u64(snapshot);
    try (WriteOperation write = new WriteOperation()) {
      RbdClass.call("parent_attach").structure(1, 1, link).u64(before.size()).u8(1).addTo(write);
      RbdClass.call("op_features_set").u64(2).u64(2).addTo(write);
      io.operate("rbd_header." + id, write);
    }
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
