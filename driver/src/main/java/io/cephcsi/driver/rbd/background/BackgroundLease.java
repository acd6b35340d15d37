package io.cephcsi.driver.rbd.background;

import io.cephcsi.driver.cluster.Lease;
import java.util.function.Consumer;

/** Connects to the cluster and as the user of a call that may have ended. */
@FunctionalInterface
public interface BackgroundLease {
  /**
   * Works with a connection, which is given back after it; blocks while it connects.
   *
   * @throws RuntimeException as of {@link io.cephcsi.driver.cluster.ConnectionPool#connected}
   */
  void with(Consumer<Lease> work);
}
