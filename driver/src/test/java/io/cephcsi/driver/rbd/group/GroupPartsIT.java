package io.cephcsi.driver.rbd.group;

import static org.assertj.core.api.Assertions.assertThat;

import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.bindings.rados.RadosCluster;
import io.cephcsi.bindings.rbd.GroupSnapshotRef;
import io.cephcsi.bindings.rbd.ImageSnapshot;
import io.cephcsi.bindings.rbd.Progress;
import io.cephcsi.bindings.rbd.RbdGroup;
import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.testing.TestCluster;
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
}
