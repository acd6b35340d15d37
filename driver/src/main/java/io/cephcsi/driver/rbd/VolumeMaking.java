package io.cephcsi.driver.rbd;

import io.cephcsi.bindings.rbd.RbdPool;
import io.cephcsi.driver.cluster.Lease;
import io.cephcsi.driver.journal.Journal;
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
 * @param journal where it is reserved
 * @param entry its reservation
 * @param parameters of the StorageClass
 * @param capacity how large
 * @param source where its content comes from
 * @param discarded told the id of an image in the pool's trash that can go
 */
record VolumeMaking(
    Lease lease,
    Supplier<Lease> leases,
    RbdPool pool,
    Journal journal,
    JournalEntry entry,
    RbdParameters parameters,
    CapacityRange capacity,
    Optional<ContentSource> source,
    Consumer<String> discarded) {
  /** The name of the image. */
  String image() {
    return entry.name();
  }

  /** The name of the image between a volume and its clone. */
  static String temporary(String image) {
    return image + "-temp";
  }
}
