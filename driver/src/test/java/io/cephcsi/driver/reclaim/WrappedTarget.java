package io.cephcsi.driver.reclaim;

import io.cephcsi.bindings.rbd.RbdImage;
import io.cephcsi.bindings.rbd.TrashEntry;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Another target, but for what is overridden. */
interface WrappedTarget extends ReclaimTarget {
  ReclaimTarget target();

  @Override
  default String name() {
    return target().name();
  }

  @Override
  default RbdImage openReadOnly() {
    return target().openReadOnly();
  }

  @Override
  default List<String> nodes() {
    return target().nodes();
  }

  @Override
  default Optional<TrashEntry> inTrash() {
    return target().inTrash();
  }

  @Override
  default Writable open(Map<String, String> options) {
    return target().open(options);
  }
}
