package io.cephcsi.driver.rbd.group;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.cls.GroupHeader;
import io.cephcsi.bindings.cls.GroupPart;
import io.cephcsi.bindings.cls.HeaderSnapshot;
import io.cephcsi.bindings.cls.ImageHeader;
import io.cephcsi.bindings.cls.ImageId;
import io.cephcsi.bindings.cls.SnapshotClone;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rados.WriteOperation;
import io.cephcsi.bindings.rbd.GroupSnapshot;
import io.cephcsi.bindings.rbd.GroupSnapshotRef;
import io.cephcsi.bindings.rbd.ImageSnapshot;
import io.cephcsi.bindings.rbd.Progress;
import io.cephcsi.bindings.rbd.RbdGroup;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.bindings.rbd.SnapshotNamespace;
import io.cephcsi.testing.TestCluster;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class GroupPartsIT {
  private static final TestCluster CLUSTER = TestCluster.shared();

  private final String name = "parts-" + UUID.randomUUID();

  /** Several group snapshots have parts of one image, and others remove theirs. */
  @Test
  void aPartThatIsRemovedAfterItWasListedIsLeftOut() {
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool(CLUSTER.pool())) {
      RbdPool pool = new RbdPool(io);
      CLUSTER.rbd("create", "--size", "8M", CLUSTER.pool() + "/" + name);
      pool.createGroup(name);
      RbdGroup group = pool.group(name);
      group.addImage(pool, name);
      group.createSnapshot("stays");
      group.createSnapshot("goes");
      GroupSnapshotRef stays = new GroupSnapshotRef(io.poolId(), name, "stays");
      GroupSnapshotRef goes = new GroupSnapshotRef(io.poolId(), name, "goes");
      try (RbdImage image = pool.openReadOnly(name)) {
        List<Long> listed = image.snapshots().list().stream().map(ImageSnapshot::id).toList();
        assertThat(GroupParts.of(image))
            .extracting(GroupParts.Part::group)
            .containsExactlyInAnyOrder(stays, goes);
        CLUSTER.rbd("group", "snap", "rm", CLUSTER.pool() + "/" + name + "@goes");
        assertThat(listed.stream().flatMap(id -> GroupParts.groupOf(image, id).stream()))
            .containsExactly(stays);
        assertThat(GroupParts.of(image)).extracting(GroupParts.Part::group).containsExactly(stays);
      }
      group.removeSnapshot("stays");
      pool.removeGroup(name);
      pool.remove(name, Progress.NONE);
    }
  }

  /** What is left when the cluster takes a part late, for a call that has ended. */
  @Test
  void aPartOfASnapshotThatNoGroupHasIsRemovedAndOthersStay() {
    try (RadosCluster cluster = CLUSTER.connect();
        IoContext io = cluster.openPool(CLUSTER.pool())) {
      RbdPool pool = new RbdPool(io);
      CLUSTER.rbd("create", "--size", "8M", CLUSTER.pool() + "/" + name);
      pool.createGroup(name);
      RbdGroup group = pool.group(name);
      group.addImage(pool, name);
      group.createSnapshot("stays");
      group.createSnapshot("forgotten");
      String id = ImageId.find(pool, name).orElseThrow();
      HeaderSnapshot part = parts(io, id).get(1);
      String child = SnapshotClone.make(pool, id, part.id(), pool, name + "-child");
      forget(io, part);
      GroupParts.removeForgotten(pool, id);
      assertThat(parts(io, id)).extracting(HeaderSnapshot::id).doesNotContain(part.id()).hasSize(1);
      assertThat(snapshots(io, id))
          .as("the clone's part goes to the trash namespace")
          .extracting(HeaderSnapshot::namespace)
          .containsExactlyInAnyOrder(SnapshotNamespace.GROUP, SnapshotNamespace.TRASH);
      try (RbdImage image = pool.openByIdReadOnly(child)) {
        assertThat(image.size()).isEqualTo(8 << 20);
      }
      GroupParts.removeForgotten(pool, id);
      assertThat(group.snapshots()).extracting(GroupSnapshot::name).containsExactly("stays");
      pool.remove(name + "-child", Progress.NONE);
      group.removeSnapshot("stays");
      pool.removeGroup(name);
      pool.remove(name, Progress.NONE);
    }
  }

  private static List<HeaderSnapshot> snapshots(IoContext io, String imageId) {
    return ImageHeader.snapshots(
        io, imageId, ImageHeader.read(io, imageId).orElseThrow().snapshotIds());
  }

  /** The oldest first. */
  private static List<HeaderSnapshot> parts(IoContext io, String imageId) {
    return snapshots(io, imageId).stream()
        .filter(snapshot -> snapshot.namespace() == SnapshotNamespace.GROUP)
        .sorted(Comparator.comparing(HeaderSnapshot::id))
        .toList();
  }

  private static void forget(IoContext io, HeaderSnapshot snapshot) {
    GroupPart part = snapshot.part().orElseThrow();
    assertThat(part.poolId()).isEqualTo(io.poolId());
    assertThat(GroupHeader.hasSnapshot(io, part.groupId(), part.snapshotId())).isTrue();
    try (WriteOperation write = new WriteOperation()) {
      write.omapRemove(List.of("snapshot_" + part.snapshotId()));
      io.operate("rbd_group_header." + part.groupId(), write);
    }
    assertThat(GroupHeader.hasSnapshot(io, part.groupId(), part.snapshotId())).isFalse();
  }
}
