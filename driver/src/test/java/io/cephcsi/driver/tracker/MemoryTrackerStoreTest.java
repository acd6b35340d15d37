package io.cephcsi.driver.tracker;

import io.cephcsi.driver.testing.RawObject;
import java.util.Optional;

class MemoryTrackerStoreTest extends TrackerStoreContract {
  private final MemoryTrackerStore store = new MemoryTrackerStore();

  @Override
  TrackerStore store() {
    return store;
  }

  @Override
  void putRaw(String object, RawObject bytes) {
    store.putRaw(object, bytes);
  }

  @Override
  Optional<RawObject> raw(String object) {
    return store.raw(object);
  }
}
