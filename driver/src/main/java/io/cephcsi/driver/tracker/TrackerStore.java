package io.cephcsi.driver.tracker;

import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/** Stores trackers. Safe for several threads; calls block on the cluster. */
public interface TrackerStore {
  /**
   * Reads a tracker and some of its keys, all at one version; one round trip.
   *
   * @param name of the tracker's object
   * @return empty when there is none
   * @throws TrackerFormatException when it is of another version or damaged
   */
  Optional<TrackerState> read(String name, Collection<String> keys);

  /**
   * Reads a tracker with all its keys, at one version; a round trip for each 1,000 keys.
   *
   * @return empty when there is none
   * @throws TrackerFormatException when it is of another version or damaged, or its references are
   *     too many to be read: some 40,000
   */
  Optional<TrackerState> readAll(String name);

  /**
   * Carries out a write, all of it or nothing; one round trip.
   *
   * @return the version that it made, of no meaning after a removal; empty when nothing was written
   *     because the tracker is not as the write expects it
   * @throws RuntimeException when it is not known whether it was carried out
   */
  OptionalLong write(String name, TrackerWrite write);

  /** The names of the objects that begin so; reads the names of all objects, so it may be long. */
  List<String> names(String prefix);
}
