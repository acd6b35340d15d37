package io.cephcsi.driver.tracker;

import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/** A client's way to a store, on which others get ahead and the client dies, as a test plans it. */
public final class InterferingStore implements TrackerStore {
  private final TrackerStore store;
  private final Deque<Runnable> beforeCalls = new ArrayDeque<>();
  private Fate fate = Fate.LIVES;

  /** What becomes of the client at its next write. */
  enum Fate {
    LIVES,
    DIES_BEFORE,
    DIES_AFTER
  }

  /** What a client meets that dies. */
  static final class Died extends RuntimeException {
    private static final long serialVersionUID = 1L;
  }

  /** A client of a store. */
  public InterferingStore(TrackerStore store) {
    this.store = store;
  }

  /** Has something done before one of the next calls; each call takes one. */
  public void beforeNextCall(Runnable interference) {
    beforeCalls.add(interference);
  }

  void atNextWrite(Fate next) {
    fate = next;
  }

  /** What was planned and did not come to happen is forgotten. */
  void forget() {
    beforeCalls.clear();
    fate = Fate.LIVES;
  }

  private void interfere() {
    Runnable interference = beforeCalls.poll();
    if (interference != null) {
      interference.run();
    }
  }

  @Override
  public Optional<TrackerState> read(String name, Collection<String> keys) {
    interfere();
    return store.read(name, keys);
  }

  @Override
  public Optional<TrackerState> readAll(String name) {
    interfere();
    return store.readAll(name);
  }

  @Override
  public OptionalLong write(String name, TrackerWrite write) {
    interfere();
    Fate mine = fate;
    fate = Fate.LIVES;
    if (mine == Fate.DIES_BEFORE) {
      throw new Died();
    }
    OptionalLong version = store.write(name, write);
    if (mine == Fate.DIES_AFTER) {
      throw new Died();
    }
    return version;
  }

  @Override
  public List<String> names(String prefix) {
    return store.names(prefix);
  }
}
