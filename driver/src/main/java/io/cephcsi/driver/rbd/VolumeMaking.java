package io.cephcsi.driver.rbd;

import io.cephcsi.bindings.cls.PreparedCreation;
import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.journal.Attempt;
import io.cephcsi.driver.journal.JournalEntry;
import io.cephcsi.driver.volume.CapacityRange;
import io.cephcsi.driver.volume.ContentSource;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * A volume that is being made.
 *
 * @param lease the connection
 * @param leases connections for work that goes on after the call
 * @param pool where the image is made
 * @param attempt at making it, with its reservation
 * @param parameters of the StorageClass
 * @param capacity how large
 * @param source where its content comes from
 * @param empty makes its image; there if its content comes from nowhere
 * @param discarded told the id of an image in the pool's trash that can go
 */
record VolumeMaking(
    Lease lease,
    Supplier<Lease> leases,
    RbdPool pool,
    Attempt attempt,
    RbdParameters parameters,
    CapacityRange capacity,
    Optional<ContentSource> source,
    Optional<PreparedCreation> empty,
    Consumer<String> discarded) {
  /** Its reservation. */
  JournalEntry entry() {
    return attempt.entry();
  }

  /** The name of the image. */
  String image() {
    return entry().name();
  }

  /** What throws away what is left under its names. */
  Leftovers leftovers() {
    return new Leftovers(attempt, parameters.namePrefix(), discarded);
  }

  /** The identifier of what its content comes from. */
  Optional<String> sourceId() {
    return source.map(from -> from.id().toString());
  }

  /** The name of the image between a volume and its clone. */
  static String temporary(String image) {
    return image + "-temp";
  }
}
