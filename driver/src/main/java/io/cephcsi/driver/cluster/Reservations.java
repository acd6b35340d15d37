package io.cephcsi.driver.cluster;

import java.util.function.Supplier;

/** Watches over the writes that reserve names. Safe for several threads. */
public interface Reservations {
  /** Does nothing: what is carried out late stays. */
  Reservations FORGOTTEN =
      new Reservations() {
        @Override
        public <T> T during(LateReservation reservation, Supplier<T> writes) {
          return writes.get();
        }
      };

  /**
   * Makes a reservation. If its outcome stays unknown, or the process is killed meanwhile, it is
   * undone in the background should it be carried out after all.
   *
   * @param reservation what the writes make
   * @param writes take the name and make its entry; block on the cluster
   * @return what they return
   */
  <T> T during(LateReservation reservation, Supplier<T> writes);
}
