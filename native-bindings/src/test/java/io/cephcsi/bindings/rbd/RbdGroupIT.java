package io.cephcsi.bindings.rbd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import org.junit.jupiter.api.Test;

class RbdGroupIT extends RbdCase {
  @Test
  void imagesOfSeveralPoolsAreInAGroupUntilTheyAreTakenOut() {
    create(MAPPED, 2);
    pool.createGroup("group-" + name);
    assertThatThrownBy(() -> pool.createGroup("group-" + name))
        .isInstanceOf(CephException.AlreadyExists.class);
    RbdGroup group = pool.group("group-" + name);
    assertThat(group.images()).isEmpty();
    assertThat(group.snapshots()).isEmpty();
    try (IoContext otherIo = cluster.openPool(ceph.otherPool())) {
      RbdPool other = new RbdPool(otherIo);
      other.create(name, OBJECT, with(PLAIN));
      group.addImage(pool, name);
      group.addImage(other, name);
      assertThat(group.images())
          .containsExactlyInAnyOrder(
              new GroupImage(io.poolId(), name, true),
              new GroupImage(otherIo.poolId(), name, true));
      assertThat(rbdJson("group", "image", "list", ceph.pool() + "/group-" + name)).hasSize(2);
      try (RbdImage image = pool.open(name)) {
        assertThat(image.group()).contains(new GroupName(io.poolId(), "group-" + name));
        assertThat(image.operationFeatures()).contains(OperationFeature.GROUP);
      }
      group.removeImage(pool, name);
      group.removeImageById(other, other.imageId(name).orElseThrow());
      assertThat(group.images()).isEmpty();
      other.remove(name, Progress.NONE);
    }
    try (RbdImage image = pool.open(name)) {
      assertThat(image.group()).isEmpty();
    }
    pool.renameGroup("group-" + name, "renamed-" + name);
    assertThat(pool.listGroups()).contains("renamed-" + name).doesNotContain("group-" + name);
    pool.removeGroup("renamed-" + name);
    assertThat(ceph.rbd("group", "list", ceph.pool())).doesNotContain("renamed-" + name);
    assertThat(group.images()).isEmpty();
    assertThat(group.snapshots()).isEmpty();
    assertThatThrownBy(() -> group.addImage(pool, name)).isInstanceOf(CephException.NotFound.class);
    assertThatThrownBy(() -> group.createSnapshot("s")).isInstanceOf(CephException.NotFound.class);
  }

  @Test
  void aGroupSnapshotIsASnapshotOfEachOfItsImages() {
    create(MAPPED, 2);
    String groupName = "group-" + name;
    ceph.rbd("group", "create", ceph.pool() + "/" + groupName);
    ceph.rbd("group", "image", "add", ceph.pool() + "/" + groupName, spec());
    RbdGroup group = pool.group(groupName);
    group.createSnapshot("s", SnapshotCreation.SKIP_QUIESCE);
    ceph.rbd("group", "snap", "create", ceph.pool() + "/" + groupName + "@theirs");
    assertThat(group.snapshots())
        .containsExactlyInAnyOrder(new GroupSnapshot("s", true), new GroupSnapshot("theirs", true));
    assertThatThrownBy(() -> group.createSnapshot("s"))
        .isInstanceOf(CephException.AlreadyExists.class);
    try (RbdImage image = pool.open(name)) {
      assertThat(image.snapshots().list())
          .hasSize(2)
          .allSatisfy(
              snapshot -> assertThat(snapshot.namespace()).isEqualTo(SnapshotNamespace.GROUP))
          .extracting(snapshot -> image.snapshots().groupSnapshot(snapshot.id()))
          .containsExactlyInAnyOrder(
              new GroupSnapshotRef(io.poolId(), groupName, "s"),
              new GroupSnapshotRef(io.poolId(), groupName, "theirs"));
      group.renameSnapshot("theirs", "ours");
      group.removeSnapshot("ours");
      group.removeSnapshot("s");
      assertThat(image.snapshots().list()).isEmpty();
    }
    assertThatThrownBy(() -> group.removeSnapshot("s")).isInstanceOf(CephException.NotFound.class);
    pool.removeGroup(groupName);
  }
}
