package io.cephcsi.driver.rbd.group;

import io.cephcsi.bindings.cls.GroupHeader;
import io.cephcsi.bindings.rados.IoContext;
import io.cephcsi.driver.journal.ClusterNames;
import java.util.UUID;

/**
 * The names of RBD groups in a pool.
 *
 * @param prefix begins each
 */
record GroupNames(IoContext io, String prefix) implements ClusterNames {
  @Override
  public String of(UUID uuid) {
    return prefix + uuid;
  }

  @Override
  public boolean isTaken(String name) {
    return GroupHeader.id(io, name).isPresent();
  }
}
