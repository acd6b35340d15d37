package io.cephcsi.driver.rbd;

import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.journal.ClusterNames;
import java.util.UUID;

/**
 * The names of images in a pool.
 *
 * @param prefix begins each
 */
record ImageNames(RbdPool pool, String prefix) implements ClusterNames {
  @Override
  public String of(UUID uuid) {
    return prefix + uuid;
  }

  /** Also by the image between it and the volume that it is cloned from. */
  @Override
  public boolean isTaken(String name) {
    return CloneWorkshop.leadsTo(pool, name).isPresent()
        || CloneWorkshop.leadsTo(pool, VolumeMaking.temporary(name)).isPresent();
  }
}
