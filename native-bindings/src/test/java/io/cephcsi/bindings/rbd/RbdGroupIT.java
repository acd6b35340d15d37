package io.cephcsi.bindings.rbd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cephcsi.bindings.cls.GroupHeader;
import io.cephcsi.bindings.cls.GroupLink;
import io.cephcsi.bindings.cls.GroupMember;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.SnapshotClone;
import io.cephcsi.bindings.error.CephException;
import io.cephcsi.bindings.rados.IoContext;
import java.util.List;
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
      group.removeImageById(other, ImageId.find(other, name).orElseThrow());
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

  @Test
  void aGroupTellsItsImagesByIdAlsoWhenOneIsGone() {
    create(MAPPED, 2);
    String group = "group-" + name;
    assertThat(GroupHeader.id(io, group)).isEmpty();
    pool.createGroup(group);
    String groupId = GroupHeader.id(io, group).orElseThrow();
    assertThat(GroupHeader.name(io, groupId)).contains(group);
    assertThat(GroupHeader.existing(io, List.of("nobody", group))).containsExactly(group);
    assertThat(GroupHeader.images(io, groupId)).isEmpty();
    String imageId = ImageId.find(pool, name).orElseThrow();
    assertThat(ImageHeader.read(io, imageId).orElseThrow().group()).isEmpty();

    pool.group(group).addImage(pool, name);
    assertThat(ImageHeader.read(io, imageId).orElseThrow().group())
        .contains(new GroupLink(io.poolId(), groupId));
    assertThat(GroupHeader.images(io, groupId))
        .containsExactly(new GroupMember(io.poolId(), imageId, true));

    ceph.rados("-p", ceph.pool(), "rm", "rbd_header." + imageId);
    ceph.rados("-p", ceph.pool(), "rm", "rbd_id." + name);
    ceph.rados("-p", ceph.pool(), "rmomapkey", "rbd_directory", "id_" + imageId);
    ceph.rados("-p", ceph.pool(), "rmomapkey", "rbd_directory", "name_" + name);
    assertThat(GroupHeader.images(io, groupId))
        .containsExactly(new GroupMember(io.poolId(), imageId, true));
    pool.group(group).removeImageById(pool, imageId);
    assertThat(GroupHeader.images(io, groupId)).isEmpty();
    pool.removeGroup(group);
    assertThat(GroupHeader.name(io, groupId)).isEmpty();
    assertThat(GroupHeader.images(io, groupId)).isEmpty();
    ceph.rados("-p", ceph.pool(), "rm", "rbd_object_map." + imageId);
  }

  @Test
  void aPartOfAGroupsSnapshotIsClonedByItsId() {
    create(MAPPED, 2);
    pool.createGroup("group-" + name);
    RbdGroup group = pool.group("group-" + name);
    group.addImage(pool, name);
    String imageId = ImageId.find(pool, name).orElseThrow();
    String clone = name + "-clone";
    try (RbdImage image = pool.open(name)) {
      image.write(OBJECT / 2, filled(4096, 1));
      image.flush();
      group.createSnapshot("s");
      image.write(OBJECT / 2, filled(4096, 2));
      image.flush();
      long part = image.snapshots().list().get(0).id();
      assertThatThrownBy(() -> SnapshotClone.make(pool, imageId, part + 1000, pool, clone))
          .isInstanceOf(CephException.NotFound.class);
      assertThat(ImageId.find(pool, clone)).isEmpty();
      String cloneId = SnapshotClone.make(pool, imageId, part, pool, clone);
      assertThat(ImageId.find(pool, clone)).contains(cloneId);
      assertThatThrownBy(() -> SnapshotClone.make(pool, imageId, part, pool, clone))
          .isInstanceOf(CephException.AlreadyExists.class);
      group.removeSnapshot("s");
      assertThat(ceph.rbd("children", "--all", spec())).contains(clone);
      assertThat(image.snapshots().list())
          .extracting(ImageSnapshot::namespace)
          .containsExactly(SnapshotNamespace.TRASH);
      try (RbdImage made = pool.open(clone)) {
        assertThat(made.size()).isEqualTo(2L * OBJECT);
        assertThat(made.read(OBJECT / 2, 4096)).isEqualTo(filled(4096, 1));
        assertThat(made.parent().orElseThrow().snapshotNamespace())
            .isEqualTo(SnapshotNamespace.TRASH);
        assertThat(made.operationFeatures()).contains(OperationFeature.CLONE_CHILD);
        made.flatten(Progress.NONE);
        assertThat(made.parent()).isEmpty();
        assertThat(made.read(OBJECT / 2, 4096)).isEqualTo(filled(4096, 1));
      }
      assertThat(image.snapshots().list()).isEmpty();
    }
    pool.remove(clone, Progress.NONE);
    pool.removeGroup("group-" + name);
  }
}
