package io.cephcsi.driver.tracker;

import java.util.ArrayList;
import java.util.List;

/** A tracker of references on a store in memory. */
abstract class ReferenceTrackerCase {
  static final String SNAPSHOT =
      "0001-0003-bar-0000000000000001-13a198ab-7cc0-4c98-9f50-ced4cf263bf9";
  static final String OBJECT = "rt-backingsnapshot-" + SNAPSHOT;

  final MemoryTrackerStore memory = new MemoryTrackerStore();
  final InterferingStore store = new InterferingStore(memory);
  final List<Integer> pauses = new ArrayList<>();
  final ReferenceTracker tracker = new ReferenceTracker(store, pauses::add);
  final ReferenceTracker other = new ReferenceTracker(memory, failures -> {});

  TrackerState state() {
    return tracker.read(SNAPSHOT).orElseThrow();
  }
}
